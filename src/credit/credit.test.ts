import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import type { Algorithm, CreditedAction } from "./algorithm.ts";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { toData, whyUntrained } from "./data.ts";
import { placedActions } from "./places.ts";
import { action, type ActionSketch, decision, distance, trajectories } from "./testing.ts";

const advantagesOf = (credited: readonly CreditedAction[]): number[] =>
  credited.map(({ advantage }) => advantage);

describe("at-grpo on single decisions", () => {
  const algorithm = algorithmFrom("at-grpo");

  it("keeps tasks, roles and nodes apart", () => {
    const low = [action({ team: 0 }), action({ team: 0.2 })];
    const high = [action({ team: 0.8 }), action({ team: 1 })];
    const [a, b, c, d] = advantagesOf(credit([decision(0, low), decision(1, high)], algorithm));
    expect([a, c]).toEqual([expect.closeTo(-Math.SQRT1_2, 4), expect.closeTo(-Math.SQRT1_2, 4)]);
    expect([b, d]).toEqual([expect.closeTo(Math.SQRT1_2, 4), expect.closeTo(Math.SQRT1_2, 4)]);
  });

  it("gives a frozen role's actions no advantage", () => {
    const actions = [action({ team: 0, frozen: true }), action({ team: 1, frozen: true })];
    expect(advantagesOf(credit([decision(0, actions)], algorithm))).toEqual([0, 0]);
  });

  it("gives exactly 0 to equal rewards whose sum is rounded, and to a group of one", () => {
    const equal = [0.1, 0.1, 0.1].map((team) => action({ team, local: 0.2 }));
    expect(advantagesOf(credit([decision(0, equal), decision(1, [action({ team: 1 })])], algorithm))).toEqual(
      [0, 0, 0, 0],
    );
  });
});

describe("GRPO", () => {
  it("gives all actions of a trajectory its advantage, and counts each trajectory once", () => {
    const episode = trajectories(0, [
      { actions: [action(), action({ turn: 1 }), action({ turn: 2 })], score: 0 },
      { actions: [action()], score: 1 },
    ]);
    // Scores 0 and 1, mean .5, std √.5; the first trajectory counts once despite its three actions.
    const size = 0.5 / (Math.SQRT1_2 + 1e-6);
    const expected = [-size, -size, -size, size];
    expect(distance(advantagesOf(credit([episode], algorithmFrom("grpo"))), expected)).toBeLessThan(1e-12);
  });

  it("without standardising is Dr. GRPO's difference from the mean", () => {
    const lines = [0, 0.25, 1].map((score) => ({ actions: [action()], score }));
    const plain = algorithmFrom("grpo", { standardise: false });
    const expected = [-5 / 12, -2 / 12, 7 / 12];
    expect(distance(advantagesOf(credit([trajectories(0, lines)], plain)), expected)).toBeLessThan(1e-12);
  });

  it("rejects a tree with truncated trajectories", () => {
    const cut = decision(0, [action(), action()]);
    expect(() => credit([cut], algorithmFrom("grpo"))).toThrowError(/keep: all/);
  });
});

describe("MAS-GRPO with `reward: rewards`", () => {
  it("sums γ^t times each role's own rewards, t counted from the first turn", () => {
    const actions = [
      action({ role: "a", team: 1 }),
      action({ role: "b", local: 3 }),
      action({ role: "a", team: 0.5, local: 0.25, turn: 2 }),
    ];
    const options = { reward: "rewards", discount: 0.5, alpha: 2 };
    const credited = credit([trajectories(0, [{ actions, score: 1 }])], algorithmFrom("mas-grpo", options));
    // a: 2·1 + .25·(2·.5 + .25); b: 3
    expect(credited.map((one) => one.return)).toEqual([2.3125, 3, 2.3125]);
  });
});

describe("REINFORCE", () => {
  it("credits each action with the episode's score itself", () => {
    const episode = trajectories(0, [
      { actions: [action(), action()], score: 0.25 },
      { actions: [action()], score: 1 },
    ]);
    expect(advantagesOf(credit([episode], algorithmFrom("reinforce")))).toEqual([0.25, 0.25, 1]);
  });
});

const tokenMean = algorithmFrom("at-grpo");
const sequenceMean = algorithmFrom("at-grpo", { aggregation: "sequence-mean" });

function creditedWith(advantage: number, sketch: ActionSketch = {}): CreditedAction {
  const episode = decision(0, [action(sketch)]);
  const [placed] = placedActions(episode);
  if (placed === undefined) throw new Error("the episode has one action");
  const advantages = new Float64Array(placed.action.tokens.length).fill(advantage);
  const rest = { group: "", minibatchKey: "", weight: 1, return: 0, earned: 0, advantage, advantages };
  return { ...placed, ...rest };
}

const three = { tokens: Int32Array.of(5, 6, 7), logprobs: Float32Array.of(-1, -1, -1) };

const reference = ({ tokens }: Action) => new Float32Array(tokens.length).fill(-3);

/** And how many data the action alone gives. */
const why = (one: CreditedAction, algorithm: Algorithm) => [
  whyUntrained(one, algorithm),
  toData([one], algorithm, { reference: () => Float32Array.of(-1) }).length,
];

describe("whyUntrained", () => {
  it("says of each action whether it adds to the loss", () => {
    const masking = algorithmFrom("at-grpo", { truncated: "mask" });
    expect(why(creditedWith(1), tokenMean)).toEqual([null, 1]);
    expect(why(creditedWith(0), tokenMean)).toEqual(["no-advantage", 0]);
    expect(why(creditedWith(1, { stopReason: "length" }), masking)).toEqual(["truncated", 0]);
    expect(why(creditedWith(1, { stopReason: "length" }), tokenMean)).toEqual([null, 1]);
    expect(why(creditedWith(1, { tokens: new Int32Array() }), tokenMean)).toEqual(["empty", 0]);
  });

  it("takes an action without an advantage as trained if KL or an entropy is in the loss", () => {
    expect(why(creditedWith(0), algorithmFrom("grpo", { entropy: 0.5 }))).toEqual([null, 1]);
    expect(why(creditedWith(0), algorithmFrom("grpo", { kl: { where: "loss", coefficient: 1 } }))).toEqual([
      null,
      1,
    ]);
  });
});

describe("toData", () => {
  it("compares with the proximal policy, with truncated importance weights", () => {
    const actions = [creditedWith(3, three), creditedWith(6, { ...three, prompt: Int32Array.of(8) })];
    const now = Float32Array.of(-1 + Math.log(0.5), -1, -1 + Math.log(5));
    const [behind] = actions;
    const [corrected, own] = toData(actions, tokenMean, {
      proximal: (one) => (one === behind?.action ? now : undefined),
    }).map(({ continuations }) => continuations[0]);
    // Six tokens; the weights are 1/2, 1, and 5 truncated to 2.
    expect(corrected?.logprobs).toBe(now);
    expect(distance(corrected?.advantages ?? [], [0.25, 0.5, 1])).toBeLessThan(1e-6);
    expect(own?.logprobs).toEqual(three.logprobs);
    expect([...(own?.advantages ?? [])]).toEqual([1, 1, 1]);
  });

  it("weights entropies like advantages, and keeps actions that have only an entropy", () => {
    const actions = [creditedWith(3, three), creditedWith(0)];
    const [first, second] = toData(actions, algorithmFrom("grpo", { entropy: 0.5 }))[0]?.continuations ?? [];
    // Five tokens; the second action has no advantage.
    expect(first?.weights).toEqual(Float32Array.of(0.2, 0.2, 0.2));
    expect(second?.advantages).toEqual(Float32Array.of(0, 0));
    expect(second?.weights).toEqual(Float32Array.of(0.2, 0.2));
    expect(toData(actions, tokenMean)[0]?.continuations.map(({ weights }) => weights)).toEqual([undefined]);
  });

  it("shares one Datum among actions of the same policy and prompt", () => {
    const actions = [
      creditedWith(1),
      creditedWith(-1, { prompt: Int32Array.of(1, 3) }),
      creditedWith(-1, { tokens: Int32Array.of(9, 9) }),
      creditedWith(1, { policy: "other" }),
      creditedWith(1, { prompt: Int32Array.of(12) }),
    ];
    const data = toData(actions, tokenMean);
    expect(
      data.map(({ policy, prompt, continuations }) => [policy, [...prompt], continuations.length]),
    ).toEqual([
      ["solver", [1, 2], 2],
      ["solver", [1, 3], 1],
      ["other", [1, 2], 1],
      ["solver", [12], 1],
    ]);
    const [one, other] = data[0]?.continuations ?? [];
    expect([one?.tokens, other?.tokens]).toEqual([Int32Array.of(3, 4), Int32Array.of(9, 9)]);
    expect([one?.logprobs, other?.logprobs]).toEqual(Array(2).fill(Float32Array.of(-1, -2)));
  });

  it("token-mean: every token of the policy's batch weighs the same", () => {
    const data = toData(
      [creditedWith(1), creditedWith(-2, three), creditedWith(7, { policy: "other" })],
      tokenMean,
    );
    const [short, long] = data[0]?.continuations ?? [];
    expect(short?.advantages).toEqual(new Float32Array(2).fill(1 / 5));
    expect(long?.advantages).toEqual(new Float32Array(3).fill(-2 / 5));
    expect(data[1]?.continuations[0]?.advantages).toEqual(new Float32Array(2).fill(7 / 2));
  });

  it("sequence-mean: every action of the policy's batch weighs the same", () => {
    const data = toData([creditedWith(1), creditedWith(-2, three)], sequenceMean);
    const [short, long] = data[0]?.continuations ?? [];
    expect(short?.advantages).toEqual(new Float32Array(2).fill(1 / (2 * 2)));
    expect(long?.advantages).toEqual(new Float32Array(3).fill(-2 / (3 * 2)));
  });

  it("excludes actions without advantage from the data, but not from the mean", () => {
    const data = toData([creditedWith(1), creditedWith(0, three), creditedWith(-1)], tokenMean);
    expect(data[0]?.continuations.map(({ tokens }) => tokens.length)).toEqual([2, 2]);
    expect(data[0]?.continuations[0]?.advantages).toEqual(new Float32Array(2).fill(1 / 7));
  });

  it("excludes frozen and empty actions from both", () => {
    const nothing = { tokens: new Int32Array(), logprobs: new Float32Array() };
    const data = toData(
      [creditedWith(1), creditedWith(5, { frozen: true }), creditedWith(1, nothing)],
      tokenMean,
    );
    expect(data[0]?.continuations.map(({ advantages }) => advantages)).toEqual([
      new Float32Array(2).fill(1 / 2),
    ]);
  });

  it("sequence-sum: the sum over an action's tokens, the mean over actions", () => {
    const data = toData([creditedWith(1), creditedWith(-2, three)], algorithmFrom("magrpo"));
    const [short, long] = data[0]?.continuations ?? [];
    expect(short?.advantages).toEqual(new Float32Array(2).fill(1 / 2));
    expect(long?.advantages).toEqual(new Float32Array(3).fill(-2 / 2));
  });

  it.each([
    ["token-mean", 2 + 3 / 4, [1, 1 / 4]],
    ["sequence-mean", 1 + 1 / 4, [1 / 2, 1 / 4 / 3]],
    ["sequence-sum", 1 + 1 / 4, [1, 1 / 4]],
  ] as const)("%s: counts an action with its weight", (aggregation, total, parts) => {
    const shared = [creditedWith(1), { ...creditedWith(1, three), weight: 1 / 4 }];
    const data = toData(shared, algorithmFrom("magrpo", { aggregation }));
    expect(data[0]?.continuations.map(({ advantages }) => advantages?.[0])).toEqual(
      parts.map((part) => Math.fround(part / total)),
    );
  });

  it("keeps each token's own advantage", () => {
    const one = { ...creditedWith(1), advantages: Float64Array.of(3, -1), advantage: 1 };
    const data = toData([one], tokenMean);
    expect(data[0]?.continuations[0]?.advantages).toEqual(Float32Array.of(1.5, -0.5));
  });

  it("excludes masked actions from the data and from the mean", () => {
    const masking = algorithmFrom("at-grpo", { truncated: "mask" });
    const data = toData([creditedWith(1), creditedWith(-2, { ...three, stopReason: "length" })], masking);
    expect(data[0]?.continuations.map(({ advantages }) => advantages)).toEqual([
      new Float32Array(2).fill(1 / 2),
    ]);
  });

  describe("with KL in the loss", () => {
    const klOptions = { kl: { where: "loss", estimator: "k3", coefficient: 0.1 } };
    const kl = algorithmFrom("grpo", klOptions);

    it("gives the reference and β / divisor, to actions without advantage too", () => {
      const data = toData([creditedWith(1), creditedWith(0, three)], kl, { reference });
      expect(kl.objective.loss).toMatchObject({ type: "ppo", kl: "k3" });
      expect(data[0]?.continuations.map((one) => [one.reference, one.penalties])).toEqual([
        [new Float32Array(2).fill(-3), new Float32Array(2).fill(0.1 / 5)],
        [new Float32Array(3).fill(-3), new Float32Array(3).fill(0.1 / 5)],
      ]);
    });

    it("uses the loop's β, and throws if the reference is missing", () => {
      const data = toData([creditedWith(1)], kl, { reference, klCoefficient: () => 4 });
      expect(data[0]?.continuations[0]?.penalties).toEqual(new Float32Array(2).fill(2));
      expect(() => toData([creditedWith(1)], kl)).toThrowError(
        /reference log-probabilities are missing .* role solver/,
      );
    });
  });

  it("trains actions that were cut off by length", () => {
    expect(toData([creditedWith(-1, { stopReason: "length" })], tokenMean)[0]?.continuations).toHaveLength(1);
  });
});
