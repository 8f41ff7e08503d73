import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outside } from "../placing/read.ts";
import { entryOf, mostEntries, readEntries, writePlan } from "./notation.ts";

const anyEntries = fc.constantFrom(4, 6, 9).chain((size) =>
  fc.record({
    size: fc.constant(size),
    entries: fc.array(fc.nat({ max: size * size * (size + 1) - 1 }), { minLength: 1, maxLength: 30 }),
  }),
);

describe("what is written", () => {
  it("is read back, in both notations", () => {
    fc.assert(
      fc.property(
        anyEntries,
        fc.constantFrom("entries" as const, "steps" as const),
        ({ size, entries }, plan) => {
          expect(readEntries(writePlan(plan, size, entries), size)).toEqual({
            items: entries,
            wellFormed: true,
          });
        },
      ),
    );
  });

  // b1=2 and d1=4 of a 4×4 grid.
  const meant = [entryOf(4, 1, 2), entryOf(4, 3, 4)];
  it.each([
    ["other separators", "b1=2, d1=4", true],
    ["spaces, colons and case", "B1 = 2; d1: 4", true],
    ["cell and digit apart", "b1 2 d1 4", true],
    ["pairs", "[(b1, 2), (d1, 4)]", true],
    ["one on each line", "b1=2\nd1=4\n", true],
    ["talk before them", "Row 1 lacks 2 and 4.\n\nb1=2 d1=4", true],
    ["a full stop", "b1=2, d1=4.", true],
    ["a frame", "**b1=2 d1=4**", true],
    ["an earlier try", "a1=3 c1=2\n\nb1=2 d1=4", true],
    ["talk around them", "I enter b1=2 and d1=4 now", false],
    ["talk after them", "b1=2 d1=4\nThat should do", false],
  ])("is understood with %s", (_, text, wellFormed) => {
    expect(readEntries(text, 4)).toEqual({ items: meant, wellFormed });
  });

  it.each([
    ["no such cell", "e1=2"],
    ["no such digit", "b1=7"],
    ["a number that is no digit", "b1=100"],
  ])("is an entry outside the grid where there is %s", (_, text) => {
    expect(readEntries(text, 4).items).toEqual([outside]);
  });

  it("is read up to a bound", () => {
    const { items, wellFormed } = readEntries("b1=2 ".repeat(200_000), 4);
    expect(items).toHaveLength(mostEntries(4));
    expect(wellFormed).toBe(false);
  });
});
