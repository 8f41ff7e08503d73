import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { standardDeviation } from "../statistics.ts";
import { algorithmFrom } from "./algorithms.ts";
import { hasZeroVariance, maxVarianceSubset, usesRewards } from "./selection.ts";
import { action, decision, trajectories } from "./testing.ts";

const line = (score: number) => ({ actions: [action(), action({ turn: 1 })], score });
const cut = (team: number) => action({ team, stopReason: "length" });
const earning = (...rewards: number[]) => ({
  actions: rewards.map((team, turn) => action({ team, turn })),
  score: 0,
});

const varianceOf = (values: readonly number[]): number => standardDeviation(values) ** 2;

describe("maxVarianceSubset (PODS)", () => {
  const subsets = (count: number, size: number): number[][] =>
    size === 0
      ? [[]]
      : Array.from({ length: count - size + 1 }, (_, first) =>
          subsets(count - first - 1, size - 1).map((rest) => [first, ...rest.map((one) => one + first + 1)]),
        ).flat();

  it("finds a subset as varied as the best of all subsets, in the order of the samples", () => {
    const returns = fc.array(
      fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: -1e3, max: 1e3, noNaN: true })),
      { minLength: 2, maxLength: 9 },
    );
    fc.assert(
      fc.property(returns, fc.nat(), (values, choice) => {
        const size = 2 + (choice % (values.length - 1));
        const found = maxVarianceSubset(values, size);
        expect(found).toEqual([...new Set(found)].toSorted((a, b) => a - b));
        expect(found).toHaveLength(size);
        const at = (indices: readonly number[]) => varianceOf(indices.map((index) => values[index] ?? NaN));
        const best = Math.max(...subsets(values.length, size).map(at));
        // Subsets that are equally good may differ by the rounding of their sums of squares, and by no more.
        expect(best - at(found)).toBeLessThanOrEqual(1e-11 * Math.max(1, varianceOf(values) * values.length));
      }),
    );
  });

  it("does not depend on the scale or shift of returns", () => {
    const returns = [0.1, 0.9, 0.4, 0.6, 0.55, 0.2];
    const chosen = maxVarianceSubset(returns, 3);
    for (const scale of [1e-6, 1, 1e6]) {
      const moved = returns.map((one) => 1e3 + scale * one);
      expect(maxVarianceSubset(moved, 3)).toEqual(chosen);
    }
  });

  it("takes the first of the largest that are equal, and the last of the smallest", () => {
    expect(maxVarianceSubset([1, 0, 1, 0, 1, 0], 4)).toEqual([0, 2, 3, 5]);
    expect(maxVarianceSubset([0.5, 0.5, 0.5], 2)).toEqual([0, 1]);
  });
});

describe("hasZeroVariance", () => {
  it("means that no trajectories of a task differ, for rows that compare them", () => {
    const grpo = algorithmFrom("grpo", { dynamicSampling: true });
    expect(grpo.selection).toEqual({ dropZeroVariance: true, refills: 3, truncated: "train" });
    expect(hasZeroVariance(trajectories(0, [line(0.1), line(0.1), line(0.1)]), grpo)).toBe(true);
    expect(hasZeroVariance(trajectories(0, [line(0), line(0.1)]), grpo)).toBe(false);
  });

  it("means that no group of a tree differs, without frozen roles", () => {
    const atGrpo = algorithmFrom("at-grpo");
    expect(hasZeroVariance(decision(0, [action({ team: 1 }), action({ team: 1 })]), atGrpo)).toBe(true);
    expect(hasZeroVariance(decision(0, [action({ team: 1 }), action({ team: 0 })]), atGrpo)).toBe(false);
    const frozen = [action({ team: 1, frozen: true }), action({ team: 0, frozen: true })];
    expect(hasZeroVariance(decision(0, frozen), atGrpo)).toBe(true);
  });

  it("counts a penalty that separates equal scores", () => {
    const overlong = { length: 2, buffer: 1 };
    const short = { tokens: Int32Array.of(1), logprobs: Float32Array.of(-1) };
    const lines = [line(1), { actions: [action(short), action(short)], score: 1 }];
    expect(hasZeroVariance(trajectories(0, lines), algorithmFrom("grpo", { overlong }))).toBe(false);
    expect(hasZeroVariance(trajectories(0, lines), algorithmFrom("grpo"))).toBe(true);
  });

  it("holds if all that differ are masked", () => {
    const masks = algorithmFrom("at-grpo", { truncated: "mask" });
    expect(hasZeroVariance(decision(0, [cut(0), cut(1)]), masks)).toBe(true);
    expect(hasZeroVariance(decision(0, [cut(0), cut(1)]), algorithmFrom("at-grpo"))).toBe(false);
    expect(hasZeroVariance(decision(0, [cut(0), cut(0), action({ team: 1 })]), masks)).toBe(false);
  });

  it("holds if returns differ only by the order of a sum", () => {
    const sums = algorithmFrom("mas-grpo", { reward: "rewards" });
    const lines = [earning(0.1, 0.2, 0.3), earning(0.3, 0.2, 0.1)];
    expect(0.1 + 0.2 + 0.3).not.toBe(0.3 + 0.2 + 0.1);
    expect(hasZeroVariance(trajectories(0, lines), sums)).toBe(true);
  });

  it("needs no reference with KL in the reward", () => {
    const kl = algorithmFrom("grpo", { kl: { where: "reward" } });
    expect(hasZeroVariance(trajectories(0, [line(0), line(1)]), kl)).toBe(false);
  });
});

it.each([
  ["at-grpo", {}, true],
  ["grpo", {}, false],
  ["grpo", { reward: "rewards" }, true],
  ["dr-grpo", { reward: "rewards" }, true],
  ["gspo", { reward: "rewards" }, true],
  ["rloo", { reward: "rewards" }, true],
  ["rloo", { reward: "outcome" }, false],
  ["reinforce", { reward: "outcome" }, false],
  ["reinforce", { reward: "action" }, true],
  ["reinforce-plus-plus", { reward: "turns" }, true],
  ["magrpo", {}, false],
  ["magrpo", { reward: "action" }, true],
  ["mas-grpo", { reward: "rewards" }, true],
  ["ppo", { kl: { where: "reward", coefficient: 0.1 } }, false],
  ["ppo", { reward: "action", critic: "central" }, true],
  ["iac", { reward: "action" }, true],
  ["maac", {}, false],
])("%s with %o: %s", (name, options, uses) => {
  expect(usesRewards(algorithmFrom(name, options))).toBe(uses);
});

const failing = (): number => {
  throw new Error("no reward");
};

it("assumes yes for an algorithm that fails on an unrewarded episode", () => {
  const algorithm = algorithmFrom("grpo", {});
  expect(usesRewards({ ...algorithm, returns: failing })).toBe(true);
});
