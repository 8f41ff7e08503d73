import { describe, expect, it } from "vitest";
import type { Action } from "../rollout/episode.ts";
import type { CreditedAction } from "./algorithm.ts";
import { algorithmFrom } from "./algorithms.ts";
import { toData } from "./data.ts";
import { placedActions } from "./placed-actions.ts";
import { action, decision, type ActionSketch } from "./testing.ts";

const tokenMean = algorithmFrom("at-grpo");
const sequenceMean = algorithmFrom("at-grpo", { aggregation: "sequence-mean" });

function credited(advantage: number, sketch: ActionSketch = {}): CreditedAction {
  const episode = decision(0, [action(sketch)]);
  const [placed] = placedActions(episode);
  if (placed === undefined) throw new Error("the episode has one action");
  const advantages = new Float64Array(placed.action.tokens.length).fill(advantage);
  const rest = { group: "", together: "", share: 1, return: 0, earned: 0, advantage, advantages };
  return { ...placed, ...rest };
}

const three = { tokens: Int32Array.of(5, 6, 7), logprobs: Float32Array.of(-1, -1, -1) };

const reference = ({ tokens }: Action) => new Float32Array(tokens.length).fill(-3);

describe("toData", () => {
  it("compares with the proximal policy, with truncated importance weights", () => {
    const actions = [credited(3, three), credited(6, { ...three, prompt: Int32Array.of(8) })];
    const now = Float32Array.of(-1 + Math.log(0.5), -1, -1 + Math.log(5));
    const [behind] = actions;
    const [corrected, own] = toData(actions, tokenMean, {
      proximal: (one) => (one === behind?.action ? now : undefined),
    }).map(({ continuations }) => continuations[0]);
    // Six tokens; the weights are 1/2, 1, and 5 truncated to 2.
    expect(corrected?.logprobs).toBe(now);
    expect([...(corrected?.advantages ?? [])].map((one) => one.toFixed(6))).toEqual([
      "0.250000",
      "0.500000",
      "1.000000",
    ]);
    expect(own?.logprobs).toEqual(three.logprobs);
    expect([...(own?.advantages ?? [])]).toEqual([1, 1, 1]);
  });

  it("weights entropies like advantages, and keeps actions that have only an entropy", () => {
    const actions = [credited(3, three), credited(0)];
    const [first, second] = toData(actions, algorithmFrom("grpo", { entropy: 0.5 }))[0]?.continuations ?? [];
    // Five tokens; the second action has no advantage.
    expect(first?.weights).toEqual(Float32Array.of(0.2, 0.2, 0.2));
    expect(second?.advantages).toEqual(Float32Array.of(0, 0));
    expect(second?.weights).toEqual(Float32Array.of(0.2, 0.2));
    expect(toData(actions, tokenMean)[0]?.continuations.map(({ weights }) => weights)).toEqual([undefined]);
  });

  it("shares one Datum among actions of the same policy and prompt", () => {
    const actions = [
      credited(1),
      credited(-1, { prompt: Int32Array.of(1, 3) }),
      credited(-1, { tokens: Int32Array.of(9, 9) }),
      credited(1, { policy: "other" }),
      credited(1, { prompt: Int32Array.of(12) }),
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
    expect(data[0]?.continuations.map(({ tokens }) => [...tokens])).toEqual([
      [3, 4],
      [9, 9],
    ]);
    expect(data[0]?.continuations.map(({ logprobs }) => logprobs)).toEqual([
      Float32Array.of(-1, -2),
      Float32Array.of(-1, -2),
    ]);
  });

  it("token-mean: every token of the policy's batch weighs the same", () => {
    const data = toData([credited(1), credited(-2, three), credited(7, { policy: "other" })], tokenMean);
    const [short, long] = data[0]?.continuations ?? [];
    expect(short?.advantages).toEqual(new Float32Array(2).fill(1 / 5));
    expect(long?.advantages).toEqual(new Float32Array(3).fill(-2 / 5));
    expect(data[1]?.continuations[0]?.advantages).toEqual(new Float32Array(2).fill(7 / 2));
  });

  it("sequence-mean: every action of the policy's batch weighs the same", () => {
    const data = toData([credited(1), credited(-2, three)], sequenceMean);
    const [short, long] = data[0]?.continuations ?? [];
    expect(short?.advantages).toEqual(new Float32Array(2).fill(1 / (2 * 2)));
    expect(long?.advantages).toEqual(new Float32Array(3).fill(-2 / (3 * 2)));
  });

  it("excludes actions without advantage from the data, but not from the mean", () => {
    const data = toData([credited(1), credited(0, three), credited(-1)], tokenMean);
    expect(data[0]?.continuations.map(({ tokens }) => tokens.length)).toEqual([2, 2]);
    expect(data[0]?.continuations[0]?.advantages).toEqual(new Float32Array(2).fill(1 / 7));
  });

  it("excludes frozen and empty actions from both", () => {
    const nothing = { tokens: new Int32Array(), logprobs: new Float32Array() };
    const data = toData([credited(1), credited(5, { frozen: true }), credited(1, nothing)], tokenMean);
    expect(data[0]?.continuations.map(({ advantages }) => advantages)).toEqual([
      new Float32Array(2).fill(1 / 2),
    ]);
  });

  it("sequence-sum: the sum over an action's tokens, the mean over actions", () => {
    const data = toData([credited(1), credited(-2, three)], algorithmFrom("magrpo"));
    const [short, long] = data[0]?.continuations ?? [];
    expect(short?.advantages).toEqual(new Float32Array(2).fill(1 / 2));
    expect(long?.advantages).toEqual(new Float32Array(3).fill(-2 / 2));
  });

  it.each([
    ["token-mean", 2 + 3 / 4, [1, 1 / 4]],
    ["sequence-mean", 1 + 1 / 4, [1 / 2, 1 / 4 / 3]],
    ["sequence-sum", 1 + 1 / 4, [1, 1 / 4]],
  ] as const)("%s: weights an action by its share", (aggregation, total, parts) => {
    const shared = [credited(1), { ...credited(1, three), share: 1 / 4 }];
    const data = toData(shared, algorithmFrom("magrpo", { aggregation }));
    expect(data[0]?.continuations.map(({ advantages }) => advantages?.[0])).toEqual(
      parts.map((part) => Math.fround(part / total)),
    );
  });

  it("keeps each token's own advantage", () => {
    const one = { ...credited(1), advantages: Float64Array.of(3, -1), advantage: 1 };
    const data = toData([one], tokenMean);
    expect(data[0]?.continuations[0]?.advantages).toEqual(Float32Array.of(1.5, -0.5));
  });

  it("excludes masked actions from the data and from the mean", () => {
    const masking = algorithmFrom("at-grpo", { truncated: "mask" });
    const data = toData([credited(1), credited(-2, { ...three, stopReason: "length" })], masking);
    expect(data[0]?.continuations.map(({ advantages }) => advantages)).toEqual([
      new Float32Array(2).fill(1 / 2),
    ]);
  });

  describe("with KL in the loss", () => {
    const klOptions = { kl: { where: "loss", estimator: "k3", coefficient: 0.1 } };
    const kl = algorithmFrom("grpo", klOptions);

    it("gives the reference and β / divisor, to actions without advantage too", () => {
      const data = toData([credited(1), credited(0, three)], kl, { reference });
      expect(kl.objective.loss).toMatchObject({ type: "ppo", kl: "k3" });
      expect(data[0]?.continuations.map((one) => [one.reference, one.penalties])).toEqual([
        [new Float32Array(2).fill(-3), new Float32Array(2).fill(0.1 / 5)],
        [new Float32Array(3).fill(-3), new Float32Array(3).fill(0.1 / 5)],
      ]);
    });

    it("uses the loop's β, and throws if the reference is missing", () => {
      const data = toData([credited(1)], kl, { reference, klCoefficient: () => 4 });
      expect(data[0]?.continuations[0]?.penalties).toEqual(new Float32Array(2).fill(2));
      expect(() => toData([credited(1)], kl)).toThrowError(
        /reference log-probabilities are missing .* role solver/,
      );
    });
  });

  it("trains actions that were cut off by length", () => {
    expect(toData([credited(-1, { stopReason: "length" })], tokenMean)[0]?.continuations).toHaveLength(1);
  });
});
