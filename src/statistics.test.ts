import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  areEqual,
  clusteredInterval,
  mean,
  pooledInterval,
  rankCorrelation,
  standardDeviation,
  standardError,
  wilsonInterval,
} from "./statistics.ts";

test.each([
  // Newcombe (1998), Statistics in Medicine 17, table I, method 3; R: prop.test(correct = FALSE).
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
])("the interval of %i in %i is [%d, %d]", (successes, trials, low, high) => {
  const interval = wilsonInterval(successes, trials);
  expect(interval.low).toBeCloseTo(low, 4); // the table has four digits
  expect(interval.high).toBeCloseTo(high, 4);
});

test("the interval is within [0, 1], contains the share and is symmetric", () => {
  const counts = fc
    .integer({ min: 1, max: 5000 })
    .chain((trials) => fc.tuple(fc.integer({ min: 0, max: trials }), fc.constant(trials)));
  fc.assert(
    fc.property(counts, ([successes, trials]) => {
      const { low, high } = wilsonInterval(successes, trials);
      const mirrored = wilsonInterval(trials - successes, trials);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(low).toBeLessThanOrEqual(successes / trials);
      expect(high).toBeGreaterThanOrEqual(successes / trials);
      expect(high).toBeLessThanOrEqual(1);
      expect(mirrored.low).toBeCloseTo(1 - high, 12);
    }),
  );
});

test("mean and standard deviation of nothing are 0", () => {
  expect([mean([]), standardDeviation([])]).toEqual([0, 0]);
  expect(mean([1, 2, 6])).toBe(3);
  expect(standardDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toBe(2);
});

test.each([
  [[], 0, true],
  [[0.3], 0, true],
  [[0.1 + 0.2, 0.3], 0, false],
  [[0.1 + 0.2, 0.3], 1e-9, true],
  [[0, -0], 0, true],
  [[1, 1, Number.NaN], 1, false],
])("%j are equal within %d: %s", (values, tolerance, expected) => {
  expect(areEqual(values, tolerance)).toBe(expected);
});

test("a cluster whose trials all agree counts as one trial", () => {
  const shares = fc.array(fc.constantFrom(0, 1), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(shares, fc.integer({ min: 1, max: 20 }), (values, samples) => {
      const successes = values.filter((value) => value === 1).length;
      const { low, high } = clusteredInterval(values, values.length * samples);
      const expected = wilsonInterval(successes, values.length);
      expect(low).toBeCloseTo(expected.low, 9);
      expect(high).toBeCloseTo(expected.high, 9);
    }),
  );
});

test("clusters count as p(1 − p) / SE² trials, at least one and at most all of each", () => {
  const shares = [0.4, 0.4, 0.6, 0.6];
  const error = standardError(shares) ?? 0;
  expect(error ** 2).toBeCloseTo(0.04 / 3 / 4, 12);
  expect(clusteredInterval(shares, 1000)).toEqual(
    wilsonInterval(0.5 * (0.25 / error ** 2), 0.25 / error ** 2),
  );
  expect(clusteredInterval(shares, 40)).toEqual(wilsonInterval(20, 40));
  expect(clusteredInterval([0.5, 0.5], 20)).toEqual(wilsonInterval(1, 2));
  expect(standardError([0.5])).toBeNull();
});

const pairsIn = (text: string) =>
  text.split(", ").flatMap((pair): [number, number][] => {
    const [one, other] = pair.split(" ").map(Number);
    return one === undefined || other === undefined ? [] : [[one, other]];
  });

test.each([
  ["1 1, 2 2, 3 3", 1],
  ["1 3, 2 2, 3 1", -1],
  // One pair is tied in the first values, two in the second: one agrees, two disagree: (1 − 2) / √((6 − 1)(6 − 2)).
  ["1 2, 1 5, 2 5, 3 2", -1 / Math.sqrt(5 * 4)],
  // scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0])
  ["12 1, 2 4, 1 7, 12 1, 2 0", -0.47140452079103173],
])("the rank correlation of %s is %d", (pairs, expected) => {
  expect(rankCorrelation(pairsIn(pairs))).toBeCloseTo(expected, 15);
});

test.each(["", "1 5", "1 5, 1 6", "5 1, 6 1"])("the rank correlation of %j is not defined", (pairs) =>
  expect(rankCorrelation(pairsIn(pairs))).toBeNull(),
);

test("the rank correlation depends on order only, and not on which comes first", () => {
  const pairs = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 4 })), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(pairs, (given) => {
      const swapped = given.map(([one, other]): [number, number] => [other, one]);
      const stretched = given.map(([one, other]): [number, number] => [Math.exp(one), other ** 3]);
      expect(rankCorrelation(swapped)).toBe(rankCorrelation(given));
      expect(rankCorrelation(stretched)).toBe(rankCorrelation(given));
    }),
  );
});

test("pooledInterval has one variance for both sides", () => {
  // Squares 2 and 2, three degrees of freedom: error √(4/3 · (1/3 + 1/2)) = 1.0541, t = 3.1824.
  const interval = pooledInterval([1, 2, 3], [4, 6]);
  expect(interval?.low).toBeCloseTo(-6.3546, 3);
  expect(interval?.high).toBeCloseTo(0.3546, 3);
  expect(pooledInterval([1, 1], [3, 3])).toEqual({ low: -2, high: -2 });
  expect(pooledInterval([1], [3, 3])).toBeNull();
});
