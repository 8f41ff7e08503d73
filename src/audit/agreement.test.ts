import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { drawFloat, generatorOf, rootKey, shuffled } from "../random.ts";
import { mean } from "../statistics.ts";
import { agreementOf, type Agreement, type Graded } from "./agreement.ts";

interface Case {
  readonly groups: readonly {
    readonly credits: readonly number[];
    readonly scores: readonly (readonly number[])[];
  }[];
  readonly expected: Readonly<Record<"pearson" | "corrected" | "kendall" | "sign" | "slope", number>> & {
    readonly ceiling: number;
    readonly clear: number;
  };
}

const fixture = new URL("../../tests/fixtures/audit/agreement.json", import.meta.url);
const cases = JSON.parse(readFileSync(fixture, "utf8")) as readonly Case[];

const graded = (groups: Case["groups"]): Graded[] =>
  groups.map((group, index) => ({ ...group, cluster: `episode ${index}` }));

it("has scipy's numbers", () => {
  expect(cases.length).toBeGreaterThan(3);
  for (const { groups, expected } of cases) {
    const found = agreementOf(graded(groups), "own");
    for (const name of ["pearson", "corrected", "kendall", "sign", "slope"] as const)
      // Sums in another order.
      expect(found[name].value).toBeCloseTo(expected[name], 10);
    expect(found.ceiling).toBeCloseTo(expected.ceiling, 10);
    expect(found.clear).toBe(expected.clear);
  }
});

it("is as computed by hand", () => {
  // Values 1 and 0, then 1 and ½: differences ±½ and ±¼, of which the second has the error of scores 0 and 1.
  const sure = [1, 1];
  const one = { cluster: "a", credits: [2, 0], scores: [sure, [0, 0]] };
  const other = { cluster: "b", credits: [0, 2], scores: [sure, [1, 0]] };
  const found = agreementOf([one, other], "own");
  // c̃ = (1, −1, −1, 1), q̃ = (½, −½, ¼, −¼): Σ c̃q̃ = 1 − ½, Σ c̃² = 4, Σ q̃² = ⅝.
  expect(found.pearson.value).toBeCloseTo(0.5 / Math.sqrt(4 * 0.625), 12);
  expect(found.slope.value).toBeCloseTo(0.125, 12);
  expect(found.kendall.value).toBe(0);
  // Only the first group is clear: the second's differences are 0 and ±½, with a variance of ⅛ and an error of 1/16 each.
  expect(found).toMatchObject({ groups: 2, candidates: 4, clear: 2, sign: { value: 0.75 } });
  expect(found.ceiling).toBeCloseTo(Math.sqrt(1 - 0.125 / 0.625), 12);
  // Two clusters say nothing of others.
  expect(found.pearson.interval).toBeNull();
});

/** Candidates with true values, credits made of these, and scores of 0 or 1 with common random numbers. */
function simulated(
  continuations: number,
  credit: (value: number, noise: number) => number,
  decisions = 400,
  seed = 5,
): Graded[] {
  const generator = generatorOf(rootKey(seed));
  const draw = () => drawFloat(generator);
  return Array.from({ length: decisions }, (_, group) => {
    const base = 0.3 + 0.4 * draw();
    const values = Array.from({ length: 4 }, () => base + 0.3 * (draw() - 0.5));
    const shared = Array.from({ length: continuations }, draw);
    return {
      cluster: `${Math.floor(group / 2)}`,
      credits: values.map((value) => credit(value - base, draw() - 0.5)),
      scores: values.map((value) => shared.map((number) => Number(number < value))),
    };
  });
}

const kinds: Readonly<Record<string, (graded: Graded) => readonly number[]>> = {
  flipped: ({ credits }) => credits.map((one) => -one),
  shuffled: ({ credits, cluster }) =>
    shuffled(generatorOf(rootKey(Number(cluster))), [0, 1, 2, 3]).map((index) => credits[index] ?? 0),
  zero: ({ credits }) => credits.map(() => 0),
};

function wrongly(kind: keyof typeof kinds): Agreement {
  const right = simulated(16, (value) => value);
  return agreementOf(
    right.map((one) => ({ ...one, credits: kinds[kind]?.(one) ?? [] })),
    "own",
  );
}

it("has intervals that contain the true correlation about as often as they say", () => {
  const all = simulated(2, (value, noise) => value + 0.3 * noise, 4000, 9);
  const truth = agreementOf(all, "own").corrected.value ?? 0;
  const audits = Array.from({ length: 200 }, (_, seed) => {
    const few = simulated(8, (value, noise) => value + 0.3 * noise, 32, 100 + seed);
    return agreementOf(few, "own");
  });
  for (const name of ["corrected", "slope"] as const) {
    const intervals = audits.map((audit) => audit[name].interval);
    expect(intervals.every((one) => one !== null)).toBe(true);
    const target = name === "slope" ? 0.5 : truth;
    const covered = intervals.filter((one) => one !== null && one.low <= target && target <= one.high).length;
    expect(covered).toBeGreaterThan(0.9 * audits.length);
  }
});

describe("credit", () => {
  it("that is right is seen as such, however few continuations there are", () => {
    for (const continuations of [4, 16, 64]) {
      const right = simulated(continuations, (value) => value);
      const { pearson, ceiling, corrected, slope, sign } = agreementOf(right, "own");
      expect(pearson.value).toBeLessThan(0.99);
      expect(pearson.value).toBeCloseTo(ceiling ?? 0, 1);
      // 400 decisions: the interval is about ±0.1 with four continuations.
      expect(corrected.value).toBeGreaterThan(0.9);
      expect(corrected.interval?.high).toBeGreaterThan(0.99);
      expect(slope.value).toBeGreaterThan(0.85);
      expect(slope.value).toBeLessThan(1.15);
      expect(sign.value).toBeGreaterThan(0.93);
    }
  });

  it("with noise has the correlation that the noise leaves, with few continuations as with many", () => {
    // The variances of value and noise in a group are the same: r = √½.
    for (const continuations of [6, 48]) {
      const noisy = simulated(continuations, (value, noise) => value + 0.3 * noise);
      const { corrected } = agreementOf(noisy, "own");
      expect(corrected.value).toBeGreaterThan(0.6);
      expect(corrected.value).toBeLessThan(0.8);
    }
  });

  it("with the wrong sign is seen as wrong", () => {
    const { pearson, corrected, kendall, sign, slope } = wrongly("flipped");
    expect(corrected.value).toBeLessThan(-0.9);
    expect(pearson.interval?.high).toBeLessThan(-0.5);
    expect(kendall.interval?.high).toBeLessThan(-0.4);
    expect(sign.interval?.high).toBeLessThan(0.1);
    expect(slope.value).toBeLessThan(-0.85);
  });

  it("that is shuffled within decisions is seen as chance", () => {
    const { pearson, kendall, sign } = wrongly("shuffled");
    for (const { interval } of [pearson, kendall]) {
      expect(interval?.low).toBeLessThan(0.02);
      expect(interval?.high).toBeGreaterThan(-0.02);
    }
    expect(sign.interval?.low).toBeLessThan(0.55);
    expect(sign.interval?.high).toBeGreaterThan(0.45);
  });

  it("that is zero has no correlation, and half of the signs", () => {
    const { pearson, corrected, kendall, slope, sign, bins } = wrongly("zero");
    for (const { value } of [pearson, corrected, kendall, slope]) expect(value).toBeNull();
    expect(sign.value).toBe(0.5);
    expect(bins).toEqual([]);
  });
});

it("is of differences within groups: what a group has in common is in no number", () => {
  const groups = simulated(16, (value, noise) => value + noise);
  const moved = groups.map(({ cluster, credits, scores }, index) => ({
    cluster,
    credits: credits.map((one) => one + 100 * (index % 7)),
    // All candidates of a decision gain or lose the same.
    scores: scores.map((own) => own.map((score) => score + (index % 5))),
  }));
  const [before, after] = [groups, moved].map((each) => agreementOf(each, "group"));
  for (const name of ["pearson", "corrected", "kendall", "sign", "slope"] as const)
    expect(after?.[name].value).toBeCloseTo(before?.[name].value ?? 0, 9);
});

it("counts the sign of a score from its group's mean, that of an advantage from zero", () => {
  const positive = simulated(32, (value) => 10 + value);
  expect(agreementOf(positive, "own").sign.value).toBeLessThan(0.7);
  expect(agreementOf(positive, "group").sign.value).toBeGreaterThan(0.93);
});

it("has a ceiling of nothing if the estimated values are noise alone", () => {
  const generator = generatorOf(rootKey(3));
  const groups = Array.from({ length: 50 }, (_, index) => ({
    cluster: `${index}`,
    credits: [0, 1, 2],
    scores: [0, 1, 2].map(() => Array.from({ length: 4 }, () => Number(drawFloat(generator) < 0.5))),
  }));
  const { ceiling, pearson } = agreementOf(groups, "own");
  // 100 differences: the reliability has a standard error of about 0.15.
  expect(ceiling ?? 0).toBeLessThan(0.6);
  expect(Math.abs(pearson.value ?? 1)).toBeLessThan(0.3);
});

it("puts candidates with similar credit together, equal ones in one bin", () => {
  const right = simulated(16, (value) => value);
  const { bins, candidates } = agreementOf(right, "own");
  expect(bins).toHaveLength(5);
  expect(bins.reduce((total, bin) => total + bin.candidates, 0)).toBe(candidates);
  for (const { credit, value, interval } of bins) {
    expect(value).toBeCloseTo(credit, 1);
    expect(interval?.low).toBeLessThan(value);
    expect(interval?.high).toBeGreaterThan(value);
  }
  expect(mean(bins.map(({ value }) => value))).toBeCloseTo(0, 9);
  const binary = right.map((one) => ({ ...one, credits: [1, 0, 0, 0] }));
  expect(agreementOf(binary, "own").bins.map((bin) => bin.candidates)).toEqual([1200, 400]);
});
