import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { action, trajectories } from "./testing.ts";
import { generalizedAdvantages } from "./tokens.ts";

describe("generalizedAdvantages", () => {
  it("three steps by hand", () => {
    // δ = 0 + .9·.4 − .5 = −.14; 1 + .9·.2 − .4 = .78; 2 − .2 = 1.8; γλ = .45
    const found = generalizedAdvantages([0, 1, 2], [0.5, 0.4, 0.2], [0.9, 0.9, 0], 0.5);
    const expected = [-0.14 + 0.45 * (0.78 + 0.45 * 1.8), 0.78 + 0.45 * 1.8, 1.8];
    expected.forEach((value, step) => expect(found[step]).toBeCloseTo(value, 14));
  });

  const numbers = fc.double({ min: -5, max: 5, noNaN: true });
  const steps = fc.array(fc.tuple(numbers, numbers, fc.double({ min: 0, max: 1, noNaN: true })), {
    minLength: 1,
    maxLength: 12,
  });

  it("with λ = 1 is the discounted sum of later rewards minus the value", () => {
    fc.assert(
      fc.property(steps, (line) => {
        const [rewards, values, discounts] = [0, 1, 2].map((at) => line.map((step) => step[at] ?? 0));
        const found = generalizedAdvantages(rewards ?? [], values ?? [], discounts ?? [], 1);
        const rest = line.reduceRight<number[]>(
          ([after = 0, ...more], [reward, , discount], step) => [
            reward + (step === line.length - 1 ? 0 : discount) * after,
            after,
            ...more,
          ],
          [],
        );
        line.forEach(([, value], step) => expect(found[step]).toBeCloseTo((rest[step] ?? 0) - value, 9));
      }),
    );
  });

  it("with λ = 0 is the one-step error, 0 for a perfect critic", () => {
    const found = generalizedAdvantages([1, 2], [3, 2], [1, 0], 0);
    expect([...found]).toEqual([0, 0]);
    expect([...generalizedAdvantages([1, 2], [0, 0.5], [1, 0], 0)]).toEqual([1.5, 1.5]);
  });
});

describe("REINFORCE++ token by token", () => {
  it("charges KL from each token on, as in MARTI: β .01, k .1 .2 .3, reward .8", () => {
    const logprobs = Float32Array.of(-1, -1, -1);
    const one = action({ team: 0.8, tokens: Int32Array.of(1, 2, 3), logprobs });
    const algorithm = { ...algorithmFrom("reinforce-plus-plus"), whitening: null };
    const [credited] = credit([trajectories(0, [{ actions: [one], score: 1 }])], algorithm, {
      reference: () => Float32Array.of(-1.1, -1.2, -1.3),
    });
    // rewards −.001, −.002, .797; from the end: .797, .795, .794. Float32 log-probabilities: 7 digits.
    [0.794, 0.795, 0.797].forEach((value, token) =>
      expect(credited?.advantages[token]).toBeCloseTo(value, 7),
    );
  });

  it("whitens over all tokens of a policy, not over actions or across policies", () => {
    const [two, one] = [Int32Array.of(1, 2), Int32Array.of(1)];
    const actions = [
      action({ team: 1, tokens: two, logprobs: Float32Array.of(-1, -1) }),
      action({ team: 0, tokens: one, logprobs: Float32Array.of(-1), turn: 1 }),
      action({ team: 0.7, policy: "other", role: "other", turn: 1 }),
    ];
    const plain = algorithmFrom("reinforce-plus-plus", { kl: { where: "none" } });
    const credited = credit([trajectories(0, [{ actions, score: 1 }])], plain);
    // 1, 1, 0: mean 2/3, variance 2/9
    expect(credited[0]?.advantages[0]).toBeCloseTo(1 / 3 / Math.sqrt(2 / 9), 12);
    expect(credited[1]?.advantages[0]).toBeCloseTo(-2 / 3 / Math.sqrt(2 / 9), 12);
    expect([...(credited[2]?.advantages ?? [])]).toEqual([0, 0]);
  });
});

describe("PPO along a role's own actions", () => {
  const actions = [
    action({ role: "a", turn: 0, team: 0.5 }),
    action({ role: "b", turn: 0, phase: 1, team: 0.25 }),
    action({ role: "a", turn: 2, team: 1 }),
  ];
  const episode = trajectories(0, [{ actions, score: 0.6 }]);
  const table = new Map<string, Float32Array>([
    ["a0", Float32Array.of(0.5, 0.25)],
    ["b0", Float32Array.of(0, 0)],
    ["a2", Float32Array.of(0.75, 1)],
  ]);
  const values = ({ role, turn }: Action) => table.get(`${role}${turn}`);
  const credited = (options: object) =>
    credit([episode], algorithmFrom("ppo", { whiten: false, ...options }), { values }).map((one) => [
      ...one.advantages,
    ]);

  it("discounts once per turn between actions, not within one", () => {
    // a: rewards 0 .5 | 0 1, values .5 .25 | .75 1, γ² = .25 between turn 0 and 2, λ = 0
    const [first, second, third] = credited({ reward: "action", discount: 0.5, lambda: 0 });
    expect(first).toEqual([0.25 - 0.5, 0.5 + 0.25 * 0.75 - 0.25]);
    expect(second).toEqual([0, 0.25]);
    expect(third).toEqual([1 - 0.75, 1 - 1]);
  });

  it("gives the episode's score at the role's last action", () => {
    const [first, second, third] = credited({ lambda: 1 });
    [0.6 - 0.5, 0.6 - 0.25].forEach((value, token) => expect(first?.[token]).toBeCloseTo(value, 14));
    expect(second).toEqual([0.6, 0.6]);
    [0.6 - 0.75, 0.6 - 1].forEach((value, token) => expect(third?.[token]).toBeCloseTo(value, 14));
  });

  it("skips an action without tokens", () => {
    const empty = { tokens: new Int32Array(), logprobs: new Float32Array() };
    const line = [{}, { turn: 1, ...empty }, { turn: 2 }].map((one) => action({ role: "a", ...one }));
    const ppo = algorithmFrom("ppo", { whiten: false, lambda: 1 });
    const given = credit([trajectories(0, [{ actions: line, score: 1 }])], ppo, {
      values: ({ tokens }) => new Float32Array(tokens.length),
    });
    expect(given.map(({ advantages }) => [...advantages])).toEqual([[1, 1], [], [1, 1]]);
  });

  it("throws if values are missing", () => {
    expect(() => credit([episode], algorithmFrom("ppo"))).toThrowError(
      /values are missing for an action of role a/,
    );
  });
});
