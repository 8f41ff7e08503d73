import { describe, expect, it } from "vitest";
import type { Continuation, Datum, Loss } from "../engine.ts";
import { isNative, plainData, surrogateData } from "./losses.ts";
import { profiles } from "./profiles.ts";
import { lossConfig, lossName, lossOf } from "./protocol/loss-settings.ts";
import { wireData } from "./protocol/losses.ts";

const floats = (...values: number[]): Float32Array => Float32Array.from(values);
const ids = (...values: number[]): Int32Array => Int32Array.from(values);

/** Sequences of 2 + 2 and 2 + 1 tokens: 3 and 2 targets. */
const datum: Datum = {
  policy: "p",
  prompt: ids(1, 2),
  continuations: [
    { tokens: ids(3, 4), advantages: floats(1, -0.5), logprobs: floats(-1, -2) },
    { tokens: ids(5), advantages: floats(2), logprobs: floats(-3) },
  ],
};
function withNumbers(continuation: Continuation): Continuation {
  const all = (value: number) => (continuation.tokens.length === 1 ? floats(value) : floats(value, value));
  return { ...continuation, weights: all(0.5), reference: all(-1), penalties: all(0.1) };
}
const sampling: Loss = { type: "importance_sampling" };
const ppo: Loss = { type: "ppo", clipLow: 0.2, clipHigh: 0.2 };

describe("plainData", () => {
  it("has one sequence per continuation, targets shifted by one, and zeros on the prompt", () => {
    const [first, second] = plainData([datum], sampling, profiles.hosted);
    expect(first?.tokens).toEqual(ids(1, 2, 3));
    expect(first?.inputs).toEqual({
      target_tokens: { values: ids(2, 3, 4), shape: [3] },
      advantages: { values: floats(0, 1, -0.5), shape: [3] },
      logprobs: { values: floats(0, -1, -2), shape: [3] },
    });
    expect(second?.inputs["target_tokens"]?.values).toEqual(ids(2, 5));
  });

  it("undoes a mean: advantages times the sequence's targets and the number of sequences", () => {
    const [first, second] = plainData([datum], sampling, profiles["skyrl-jax"]);
    expect(first?.inputs["advantages"]?.values).toEqual(floats(0, 6, -3));
    expect(second?.inputs["advantages"]?.values).toEqual(floats(0, 8));
    expect(first?.inputs["logprobs"]?.values).toEqual(floats(0, -1, -2));
  });
});

describe("surrogateData", () => {
  it("has minus the loss's derivative as advantages, at ratio 1", () => {
    const weighted = { ...datum, continuations: [{ tokens: ids(3, 4), weights: floats(0.5, -2) }] };
    const [found] = surrogateData([weighted], { type: "cross_entropy" }, [floats(-1, -3)]);
    expect(found?.continuations).toEqual([
      { tokens: ids(3, 4), logprobs: floats(-1, -3), advantages: floats(0.5, -2) },
    ]);
  });

  it("is zero where the clip removes the gradient", () => {
    // Ratios e^1 with A = 1: beyond 1.2; e^0 with A = −0.5: −dL/dlogp = ρA.
    const [found] = surrogateData([datum], ppo, [floats(0, -2), floats(-3)]);
    const advantages = found?.continuations.map((each) => each.advantages?.map((value) => value + 0)); // no −0
    expect(advantages).toEqual([floats(0, -0.5), floats(2)]);
  });
});

describe("a loss with an entropy", () => {
  const bonus: Loss = { ...ppo, kl: "k3", entropy: 0.01 };

  it("reaches a server of Troupe whole", () => {
    expect(lossOf(lossName(bonus), lossConfig(bonus)).loss).toEqual({
      ...bonus,
      clipLow: expect.closeTo(0.2),
      clipHigh: expect.closeTo(0.2),
    });
    const [whole] = wireData([{ ...datum, continuations: datum.continuations.map(withNumbers) }], bonus);
    expect(whole?.inputs["weights"]?.values).toEqual(floats(0, 0.5, 0.5));
  });

  it("has no surrogate", () => {
    expect(() => surrogateData([datum], bonus, [floats(-1, -3), floats(-1)])).toThrow(/whole distributions/);
  });
});

describe("isNative", () => {
  it.each([
    ["hosted", ppo, true],
    ["hosted", { ...ppo, kl: "k3" }, false],
    ["hosted", { ...ppo, ratio: "sequence" }, false],
    ["hosted", { ...ppo, dualClip: 3 }, false],
    ["skyrl-jax", { type: "cross_entropy" }, false],
  ] as const)("%s: %j is computed by the server: %s", (name, loss, expected) => {
    expect(isNative(loss, profiles[name])).toBe(expected);
  });
});
