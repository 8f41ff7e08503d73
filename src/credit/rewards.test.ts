import { describe, expect, it } from "vitest";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { marginShaping, mixedScore, overlongPenalty, qualityShaping } from "./rewards.ts";
import { action, trajectories } from "./testing.ts";

/** Rewards 0, 1, 1 of three sequential roles, α = .5: MARTI's own numbers. */
const chain = (shaped: (own: number, earlier: readonly number[]) => number): number[] =>
  [0, 1, 1].map((own, index, all) => shaped(own, all.slice(0, index)));

describe("reward shaping between roles", () => {
  it("margin: R + α(R − Q)", () => {
    expect(chain(marginShaping(0.5))).toEqual([0, 1.5, 1.25]);
  });

  it("quality: R + α(QR − (1 − Q)(1 − R))", () => {
    expect(chain(qualityShaping(0.5))).toEqual([0, 1, 1.25]);
  });

  it("shapes the team reward by earlier ones of the episode, then adds α and the local reward", () => {
    const roles = ["proposer", "critic", "editor"];
    const actions = [0, 1, 1].map((team, phase) =>
      action({ team, local: 0.2, role: roles[phase] ?? "", policy: "shared", phase }),
    );
    const options = { reward: "action", shaping: "margin", alpha: 2 };
    const credited = credit([trajectories(0, [{ actions, score: 1 }])], algorithmFrom("reinforce", options));
    const first = mixedScore(2)({ team: 0, local: 0.2, parts: {} });
    expect(credited.map((one) => one.return)).toEqual([first, 2 * 1.5 + 0.2, 2 * 1.25 + 0.2]);
  });

  it("with outcome: adds β times the episode's score", () => {
    const actions = [action({ team: 0 }), action({ team: 1, turn: 1 })];
    const options = { reward: "action", shaping: "margin", outcomeWeight: 0.5 };
    const episode = trajectories(0, [{ actions, score: 0.4 }]);
    const credited = credit([episode], algorithmFrom("reinforce", options));
    expect(credited.map((one) => one.return)).toEqual([0.2, 1.7]);
  });
});

const long = (count: number) => ({
  tokens: new Int32Array(count),
  logprobs: new Float32Array(count).fill(-1),
});

describe("the over-long penalty", () => {
  it("grows from 0 over the buffer and stays at the penalty", () => {
    const option = { length: 10, buffer: 4, penalty: 0.5 };
    const paid = [1, 6, 7, 8, 10, 30].map((tokens) => overlongPenalty(tokens, option));
    expect(paid.map(Math.abs)).toEqual([0, 0, 0.125, 0.25, 0.5, 0.5]);
    expect(Math.min(...paid)).toBe(-0.5);
  });

  it("is shared by a trajectory; a frozen role pays none", () => {
    const overlong = { length: 4, buffer: 2, penalty: 1 };
    const lines = [
      { actions: [action(long(3)), action({ ...long(4), turn: 1 })], score: 1 },
      { actions: [action(long(1)), action({ ...long(4), turn: 1, frozen: true })], score: 1 },
    ];
    const returns = credit([trajectories(0, lines)], algorithmFrom("grpo", { overlong })).map(
      (one) => one.return,
    );
    expect(returns).toEqual([-0.5, -0.5, 1, 1]);
  });
});
