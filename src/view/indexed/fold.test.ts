import * as fc from "fast-check";
import { expect, it } from "vitest";
import { filterOf, folded, mayHave, trigramsOf } from "./fold.ts";

const any = fc.string({ unit: "binary", maxLength: 200 });

it("folding keeps every length", () => {
  const others = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code)).filter(
    (text) => folded(text).length !== text.length,
  );
  expect(others).toEqual([]);
  fc.assert(fc.property(any, (text) => folded(text).length === text.length));
});

it("a filter never denies what its text has", () => {
  fc.assert(
    fc.property(any, fc.nat(), fc.nat(), (text, start, length) => {
      const part = text.slice(start % (text.length + 1)).slice(0, length % 40);
      expect(mayHave(filterOf(text), trigramsOf(part))).toBe(true);
    }),
  );
});

it("a filter denies most of what its text lacks", () => {
  const filter = filterOf("the scout says that the wall is at a7, the planner goes right");
  const lacking = Array.from({ length: 100 }, (_, number) => `zq${number}xj`);
  expect(lacking.filter((text) => mayHave(filter, trigramsOf(text))).length).toBeLessThan(10);
});
