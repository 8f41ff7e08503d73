import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { meanInterval, studentQuantile } from "../statistics.ts";
import { drawInt, generatorOf, rootKey } from "../random.ts";
import { pairedDifference } from "./statistics.ts";

describe("Student's t", () => {
  // The usual table of two-sided 95 % points, to its last digit.
  it.each([
    [1, 12.706],
    [2, 4.303],
    [3, 3.182],
    [4, 2.776],
    [9, 2.262],
    [30, 2.042],
    [120, 1.98],
  ])("with %i degrees of freedom: %f", (degrees, expected) => {
    expect(studentQuantile(degrees)).toBeCloseTo(expected, 3);
  });

  it("with other confidences", () => {
    expect(studentQuantile(5, 0.9)).toBeCloseTo(2.015, 3);
    expect(studentQuantile(2, 0.5)).toBeCloseTo(0.816, 3);
  });
});

describe("the interval of a mean over seeds", () => {
  it("by hand: 0.90, 0.95, 1.00", () => {
    // Standard deviation 0.05, of the mean 0.05 / √3 = 0.0288675; times 4.30265.
    const interval = meanInterval([0.9, 0.95, 1]);
    expect(interval?.low).toBeCloseTo(0.95 - 0.124207, 6);
    expect(interval?.high).toBeCloseTo(0.95 + 0.124207, 6);
  });

  it("does not exist for one seed, and is a point if seeds agree", () => {
    expect(meanInterval([0.5])).toBeNull();
    expect(meanInterval([])).toBeNull();
    expect(meanInterval([0.5, 0.5, 0.5])).toEqual({ low: 0.5, high: 0.5 });
  });

  it("shifts with the values and grows with their spread", () => {
    const values = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(values, fc.double({ min: -3, max: 3, noNaN: true }), (given, shift) => {
        const [plain, moved, spread] = [
          given,
          given.map((each) => each + shift),
          given.map((each) => 2 * each),
        ].map((each) => meanInterval(each) ?? { low: NaN, high: NaN });
        expect(moved?.low).toBeCloseTo((plain?.low ?? NaN) + shift, 9);
        expect(moved?.high).toBeCloseTo((plain?.high ?? NaN) + shift, 9);
        expect((spread?.high ?? NaN) - (spread?.low ?? NaN)).toBeCloseTo(
          2 * ((plain?.high ?? NaN) - (plain?.low ?? NaN)),
          9,
        );
      }),
    );
  });
});

const measuredBy = (successes: number, solved?: string) => ({
  success: successes / 100,
  tasks: 100,
  ...(solved === undefined ? {} : { solved }),
});
/** The first ones are solved. */
const first = (count: number): string => "1".repeat(count) + "0".repeat(100 - count);

const pairsOf = (known: boolean) =>
  [60, 61, 62].map((count) => ({
    one: measuredBy(count, known ? first(count) : undefined),
    other: measuredBy(count - 5, known ? first(count - 5) : undefined),
  }));

describe("a difference in the same seeds", () => {
  it("by hand: 70, 65 and 60 points", () => {
    const pairs = [
      [90, 20],
      [95, 30],
      [100, 40],
    ].map(([one = 0, other = 0]) => ({ one: measuredBy(one), other: measuredBy(other) }));
    const { mean, interval, isClear } = pairedDifference(pairs);
    expect([mean, isClear]).toEqual([expect.closeTo(0.65, 12), true]);
    // Seeds: 0.124207. Tasks: √(0.06175² + 0.0958²) = 0.114 below, √(0.02846² + 0.0811²) = 0.0859 above.
    expect(interval?.low).toBeCloseTo(0.65 - 0.1686, 3);
    expect(interval?.high).toBeCloseTo(0.65 + 0.151, 3);
  });

  it("one seed has no interval, and nothing is clear", () => {
    expect(pairedDifference([{ one: measuredBy(100), other: measuredBy(0) }])).toEqual({
      mean: 1,
      interval: null,
      isClear: false,
    });
  });

  it("is narrower where the same tasks are solved", () => {
    const [paired, unpaired] = [pairedDifference(pairsOf(true)), pairedDifference(pairsOf(false))];
    expect(paired.isClear).toBe(true);
    expect(unpaired.isClear).toBe(false);
    expect(unpaired.mean).toBeCloseTo(paired.mean, 12);
  });

  it("is rarely clear where rows are equal", () => {
    let clear = 0;
    const random = generatorOf(rootKey(5));
    const draw = (): string =>
      Array.from({ length: 100 }, () => String(Number(drawInt(random, 10) < 4))).join("");
    const measured = () => {
      const solved = draw();
      return measuredBy(solved.split("").filter((one) => one === "1").length, solved);
    };
    for (let trial = 0; trial < 400; trial++)
      if (pairedDifference([0, 1, 2].map(() => ({ one: measured(), other: measured() }))).isClear) clear++;
    // At most 5 %, with room for two standard errors of 400 trials.
    expect(clear / 400).toBeLessThan(0.075);
  });
});
