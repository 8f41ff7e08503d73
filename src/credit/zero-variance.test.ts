import { describe, expect, it } from "vitest";
import { algorithmFrom } from "./algorithms.ts";
import { hasZeroVariance } from "./zero-variance.ts";
import { action, decision, trajectories } from "./testing.ts";

const line = (score: number) => ({ actions: [action(), action({ turn: 1 })], score });
const cut = (team: number) => action({ team, stopReason: "length" });
const earning = (...rewards: number[]) => ({
  actions: rewards.map((team, turn) => action({ team, turn })),
  score: 0,
});

describe("hasZeroVariance", () => {
  it("is whether no trajectories of a task differ, under rows that compare them", () => {
    const grpo = algorithmFrom("grpo", { dynamicSampling: true });
    expect(grpo.selection).toEqual({ dropZeroVariance: true, refills: 3, truncated: "train" });
    expect(hasZeroVariance(trajectories(0, [line(0.1), line(0.1), line(0.1)]), grpo)).toBe(true);
    expect(hasZeroVariance(trajectories(0, [line(0), line(0.1)]), grpo)).toBe(false);
  });

  it("is whether no group of a tree differs, frozen roles left out", () => {
    const atGrpo = algorithmFrom("at-grpo");
    expect(hasZeroVariance(decision(0, [action({ team: 1 }), action({ team: 1 })]), atGrpo)).toBe(true);
    expect(hasZeroVariance(decision(0, [action({ team: 1 }), action({ team: 0 })]), atGrpo)).toBe(false);
    const frozen = [action({ team: 1, frozen: true }), action({ team: 0, frozen: true })];
    expect(hasZeroVariance(decision(0, frozen), atGrpo)).toBe(true);
  });

  it("counts a penalty that parts equal scores", () => {
    const overlong = { length: 2, buffer: 1 };
    const short = { tokens: Int32Array.of(1), logprobs: Float32Array.of(-1) };
    const lines = [line(1), { actions: [action(short), action(short)], score: 1 }];
    expect(hasZeroVariance(trajectories(0, lines), algorithmFrom("grpo", { overlong }))).toBe(false);
    expect(hasZeroVariance(trajectories(0, lines), algorithmFrom("grpo"))).toBe(true);
  });

  it("is also where all that differ are masked, and train nothing", () => {
    const masks = algorithmFrom("at-grpo", { truncated: "mask" });
    expect(hasZeroVariance(decision(0, [cut(0), cut(1)]), masks)).toBe(true);
    expect(hasZeroVariance(decision(0, [cut(0), cut(1)]), algorithmFrom("at-grpo"))).toBe(false);
    expect(hasZeroVariance(decision(0, [cut(0), cut(0), action({ team: 1 })]), masks)).toBe(false);
  });

  it("is also where returns differ by the order of a sum alone", () => {
    const sums = algorithmFrom("mas-grpo", { reward: "rewards" });
    const lines = [earning(0.1, 0.2, 0.3), earning(0.3, 0.2, 0.1)];
    expect(0.1 + 0.2 + 0.3).not.toBe(0.3 + 0.2 + 0.1);
    expect(hasZeroVariance(trajectories(0, lines), sums)).toBe(true);
  });

  it("needs no reference where KL is in the reward", () => {
    const kl = algorithmFrom("grpo", { kl: { where: "reward" } });
    expect(hasZeroVariance(trajectories(0, [line(0), line(1)]), kl)).toBe(false);
  });
});
