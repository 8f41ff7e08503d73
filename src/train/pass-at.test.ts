import { assert, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { mean } from "../statistics.ts";
import { passAt } from "./scores.ts";

/** Whether at least one of the chosen samples succeeded, over all choices of k of n samples of which c succeeded. */
function bruteForce(k: number, n: number, c: number): number {
  const results: number[] = [];
  for (let chosen = 0; chosen < 2 ** n; chosen++) {
    const members = Array.from({ length: n }, (_, index) => index).filter((index) => (chosen >> index) & 1);
    if (members.length === k) results.push(members.some((index) => index < c) ? 1 : 0);
  }
  return mean(results);
}

describe("pass@k", () => {
  it.each([
    [1, 10, 3, 0.3],
    [5, 10, 3, 1 - 21 / 252], // C(7, 5) / C(10, 5)
    [10, 10, 1, 1],
    [10, 10, 0, 0],
    [2, 4, 2, 1 - 1 / 6],
  ])("of %i from %i samples with %i successes is %f", (k, n, c, expected) => {
    expect(passAt(k, n, c)).toBeCloseTo(expected, 12);
  });

  it("is the mean over all choices of k samples", () => {
    const cases = integer({ min: 1, max: 9 }).chain((n) =>
      integer({ min: 1, max: n }).chain((k) => integer({ min: 0, max: n }).map((c) => ({ k, n, c }))),
    );
    assert(
      property(cases, ({ k, n, c }) => {
        expect(passAt(k, n, c)).toBeCloseTo(bruteForce(k, n, c), 10);
      }),
    );
  });

  it("is not 1 as soon as k samples succeed, as in MAGRPO's code", () => {
    const [k, n, c] = [5, 10, 5];
    expect(c >= k).toBe(true);
    expect(passAt(k, n, c)).toBeCloseTo(1 - 1 / 252, 12);
    expect(passAt(1, 10, 1)).toBeCloseTo(0.1, 12);
  });

  it("stays a number where binomial coefficients would not", () => {
    expect(passAt(1000, 5000, 1)).toBeCloseTo(0.2, 9);
    expect(passAt(100, 2000, 3)).toBeCloseTo(1 - (1900 * 1899 * 1898) / (2000 * 1999 * 1998), 9);
  });
});
