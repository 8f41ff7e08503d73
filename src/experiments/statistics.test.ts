import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { meanInterval, studentQuantile } from "../statistics.ts";

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
