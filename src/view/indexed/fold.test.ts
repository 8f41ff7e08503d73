import * as fc from "fast-check";
import { expect, it } from "vitest";
import { filterOf, folded, mayHave, trigramsOf } from "./fold.ts";
import { indexedEpisode, type StoredJson } from "./contents.ts";
import { firstThat } from "../first-that.ts";
import { ignoredIn, rangeProblem } from "../filter.ts";

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

it("a branched episode has the turns of its first trajectory", () => {
  const ends = [
    { node: "0.0", outcome: { success: true, score: 1 }, turns: 2 },
    { node: "1.0.0", outcome: { success: false, score: 0 }, turns: 3 },
  ];
  const stored = { episode: { nodes: [], actions: [], ends }, prompts: {} } as unknown as StoredJson;
  expect(indexedEpisode(stored).turns).toBe(3);
  expect(indexedEpisode(stored, true).turns).toBe(2);
});

it("finds what looking at one after the other finds", () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(60), (end, first) => {
      expect(firstThat(end, (number) => number >= first)).toBe(Math.min(first, end));
    }),
  );
});

it("says what of an address is no filter", () => {
  expect(ignoredIn(new URLSearchParams("step=3~9&text=a"))).toBeNull();
  expect(ignoredIn(new URLSearchParams("steps=9-3&text=a"))).toContain(
    "The address has steps, which is ignored. Filters are text, from,",
  );
});

it.each([
  ["step", "401.5", "", "a step is a whole number from 0"],
  ["step", "", "-7", "a step is a whole number from 0"],
  ["step", "9", "10", null],
  ["step", "", "", null],
  ["reward", "5", "1", "from is above to"],
  ["reward", "-0.5", "", null],
] as const)("says what is wrong with a range: %s from %s to %s", (name, from, to, problem) => {
  expect(rangeProblem(name, from, to)).toBe(problem);
});
