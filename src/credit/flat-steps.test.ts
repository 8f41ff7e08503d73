/** Equal returns say nothing, so nothing is made of what rounding or KL add to them. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import type { Algorithm } from "./algorithm.ts";
import { algorithmFrom, algorithms } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { toData } from "./data.ts";
import { action, decision, trajectories } from "./testing.ts";

/** log π − log π_ref is 0.01 at the first token and differs between actions at the second. */
const signals = {
  reference: ({ sample }: Action) => Float32Array.of(-1.01, -2 - 0.001 * sample),
  values: ({ sample }: Action) => Float32Array.of(0.1, 0.2 + 0.01 * sample),
};
const earning = (...teams: readonly number[]) => teams.map((team) => action({ team }));
const lineOf = (team: number) => ({ actions: earning(team), score: team });
const advantagesOf = (algorithm: Algorithm, ...tasks: readonly (readonly number[])[]): number[] => {
  const episodes = tasks.map((teams, task) => trajectories(task, teams.map(lineOf)));
  return credit(episodes, algorithm, signals).flatMap(({ advantages }) => [...advantages]);
};

describe("reinforce-plus-plus", () => {
  const algorithm = algorithmFrom("reinforce-plus-plus", { kl: { coefficient: 0.01 } });

  it("makes no update of KL alone: every return is equal", () => {
    expect(advantagesOf(algorithm, [0.5, 0.5, 0.5])).toEqual([0, 0, 0, 0, 0, 0]);
    const credited = credit([decision(0, earning(0.5, 0.5))], algorithm, signals);
    expect(toData(credited, algorithm, signals)).toEqual([]);
  });

  it("whitens as before if one return differs, by hand", () => {
    // Returns to go without KL are 1 and 0, twice each: mean 1/2, σ 1/2.
    const plain = algorithmFrom("reinforce-plus-plus", { kl: { where: "none" } });
    expect(advantagesOf(plain, [1, 0])).toEqual([1, 1, -1, -1]);
    const [first = 0, , third = 0] = advantagesOf(algorithm, [1, 0]);
    expect([first, third]).toEqual([expect.closeTo(1, 3), expect.closeTo(-1, 3)]);
  });
});

describe("KL in the reward of rows that divide by a deviation", () => {
  const kl = { where: "reward", estimator: "k1", coefficient: 0.01 };

  it.each(["at-grpo"])("is no credit of %s where the rewards of a group are equal", (name) => {
    const algorithm = algorithmFrom(name, { samples: 3, kl });
    expect(advantagesOf(algorithm, [1, 1, 1], [0, 0, 1]).slice(0, 6)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(advantagesOf(algorithm, [0, 0, 1]).some((one) => one !== 0)).toBe(true);
  });

  it("has its own size in rows that do not divide", () => {
    const [first = 0, , second = 0] = advantagesOf(
      algorithmFrom("at-grpo", { samples: 2, standardise: false, kl }),
      [1, 1],
    );
    // KL of the second action is 0.001 larger: β·0.001 apart.
    expect(first).toBeCloseTo(0.5e-5, 8);
    expect(second).toBeCloseTo(-0.5e-5, 8);
  });
});

/** One action was thought to do well, one to do badly. */
const expects = ({ sample }: Action) => Float32Array.of(0.9 - 0.8 * sample, 0.9 - 0.8 * sample);

describe("every row", () => {
  const names = Object.keys(algorithms).filter((name) => algorithmFrom(name).baseline([1, 1])[0] !== 0);

  it.each(names)("%s credits exactly 0 for rewards that differ by rounding only", (name) => {
    const algorithm = algorithmFrom(name);
    const sums = [0.1 + 0.2, 0.3, 0.1 + 0.2];
    expect(new Set(advantagesOf(algorithm, sums).map((one) => one + 0))).toEqual(new Set([0]));
  });

  it("with whitening and without a critic makes nothing of equal returns, whatever KL says", () => {
    const algorithm = algorithmFrom("reinforce-plus-plus", { reward: "action" });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (team) => {
        expect(new Set(advantagesOf(algorithm, [team, team], [team, team]))).toEqual(new Set([0]));
      }),
    );
  });

  it("with a critic credits what it did not expect, also where all fail", () => {
    const algorithm = algorithmFrom("ppo", { lambda: 1, kl: { where: "none" } });
    const lines = [0, 1].map(() => ({ actions: earning(0), score: 0 }));
    const credited = credit([trajectories(0, lines)], algorithm, { values: expects });
    expect(new Set(credited.map(({ advantage }) => Math.sign(advantage)))).toEqual(new Set([-1, 1]));
  });
});

describe("a column that is wrong", () => {
  const algorithm = { ...algorithmFrom("reinforce", { baseline: "batch", reward: "action" }), name: "mine" };

  it("names the sample and the tasks that it mixes", () => {
    const grouping = {
      ...algorithm.grouping,
      sampleKey: ({ node }: { readonly node: { readonly id: string } }) => node.id,
    };
    expect(() => advantagesOf({ ...algorithm, grouping }, [1, 0], [0, 0])).toThrow(
      /`grouping\.sampleKey` gives "0" to actions of the tasks \S+ and \S+ in the group "solver"/,
    );
    const all = { ...grouping, sampleKey: () => "all" };
    expect(() => advantagesOf({ ...algorithm, grouping: all }, [1, 0])).toThrow(
      /gives "all" to actions of the task \S+ with the returns 1 and 0/,
    );
  });

  it.each([
    ["a return", { returns: () => Number.NaN }, /the return of an action of role solver .* is NaN/],
    ["an infinite return", { returns: () => Infinity }, /is Infinity, although no reward is missing/],
    ["a baseline", { baseline: () => [Number.NaN] }, /the returns \[1, 0\] have the baselines \[NaN\]/],
    ["a scale of 0", { scale: () => 0 }, /the scale 0, which must be finite, the scale above 0/],
    [
      "a whitening",
      { whitening: (given: readonly Float64Array[]) => given.map((one) => one.map(() => Infinity)) },
      /the credit of an action of role solver in \S+ is Infinity/,
    ],
  ] as const)("is reported, not counted as a missing reward: %s", (_, change, message) => {
    expect(() => advantagesOf({ ...algorithm, ...change }, [1, 0])).toThrow(message);
  });
});
