/** Losses of ordinary clients: nothing but the tokens that they sampled counts, and each loss is what it is defined as. */
import { beforeEach, describe, expect, it } from "vitest";
import { encodeCall, type LossCall } from "../protocol/forward-backward.ts";
import { createModel, resultOf, start, type Send } from "../testing/own-server.ts";

/** A prompt, a reply, what another wrote, and a second reply. */
const tokens = Int32Array.of(1, 6, 7, 8, 9, 5, 6, 7);
const targets = Int32Array.of(6, 7, 8, 9, 5, 6, 7, 8);
const sampled = [0, 0, 1, 1, 0, 0, 1, 1];
const length = sampled.length;
const advantage = 1.5;

let ask: Send;
let id: string;
let number: number;
/** Of the model as it is. */
let now: number[];

beforeEach(async () => {
  ask = await start();
  ({ id } = await createModel(ask));
  number = 0;
  now = (await pass("cross_entropy", {}, { forwardOnly: true })).logprobs;
});

async function pass(
  loss: string,
  numbers: Record<string, readonly number[]>,
  more: Partial<LossCall> = {},
): Promise<{ metrics: Record<string, number>; logprobs: number[]; error: unknown }> {
  const given = Object.entries(numbers).map(([name, values]) => [
    name,
    { values: Float32Array.from(values), shape: [length] },
  ]);
  const inputs = { ...Object.fromEntries(given), target_tokens: { values: targets, shape: [length] } };
  number += 1;
  const call = { modelId: id, seqId: number, loss, config: {}, forwardOnly: false, ...more };
  const { json } = await resultOf(
    ask,
    "forward_backward",
    encodeCall({ ...call, data: [{ tokens, inputs }] }),
  );
  const [output] = (json["loss_fn_outputs"] ?? []) as { logprobs: { data: number[] } }[];
  const metrics = json["metrics"] as Record<string, number>;
  return { metrics, logprobs: output?.logprobs.data ?? [], error: json["error"] };
}

/** As SDK clients send them: zeros where they did not sample. */
function sampledWith(shift = 0): Record<string, readonly number[]> {
  return {
    logprobs: now.map((logprob, at) => (sampled[at] === 1 ? logprob - shift : 0)),
    advantages: sampled.map((each) => each * advantage),
  };
}

const sumOfSampled = (): number => now.reduce((sum, logprob, at) => sum + (sampled[at] ?? 0) * logprob, 0);

describe("of tokens that a client did not sample", () => {
  it.each(["importance_sampling", "ppo", "gspo", "cispo"])("%s counts none", async (loss) => {
    const { metrics, logprobs } = await pass(loss, sampledWith());
    const expected = loss === "cispo" ? -advantage * sumOfSampled() : -4 * advantage;
    expect(metrics["loss:sum"]).toBeCloseTo(expected, 5);
    expect(metrics).toMatchObject({ "tokens:sum": 4, "clipped:sum": 0 });
    expect(metrics["kl:sum"]).toBeCloseTo(0, 5);
    expect(logprobs).toEqual(now);
    // Another policy sampled: all four ratios are e^0.1, and so is their mean.
    const far = await pass(loss, sampledWith(0.1), {
      config: loss === "gspo" ? { clip_high_threshold: 2 } : {},
    });
    expect(far.metrics["loss:sum"]).toBeCloseTo(expected * Math.exp(0.1), 4);
    expect(far.metrics["kl:sum"]).toBeCloseTo(4 * (Math.exp(0.1) - 1.1), 5);
  });

  it("cross_entropy counts none, with a gradient and without", async () => {
    for (const forwardOnly of [false, true]) {
      const { metrics } = await pass("cross_entropy", { weights: sampled }, { forwardOnly });
      expect(metrics["loss:sum"]).toBeCloseTo(-sumOfSampled(), 5);
      expect(metrics["tokens:sum"]).toBe(4);
    }
  });

  it("gspo takes the ratio's mask of the client, which must hold all advantages", async () => {
    const whole = { ...sampledWith(), logprobs: now.map((logprob) => logprob - 0.1) };
    const { metrics } = await pass("gspo", { ...whole, sequence_ratio_mask: sampled });
    expect(metrics["loss:sum"]).toBeCloseTo(-4 * advantage * Math.exp(0.1), 4);
    expect(metrics["tokens:sum"]).toBe(4);
    const outside = { ...whole, advantages: sampled.map(() => 1), sequence_ratio_mask: sampled };
    expect((await pass("gspo", outside)).error).toContain("data[0] has an advantage at 0");
  });
});

it("forward measures the loss, as forward_backward does", async () => {
  for (const loss of ["importance_sampling", "ppo", "gspo", "cispo"]) {
    const measured = await pass(loss, sampledWith(0.05), { forwardOnly: true });
    const { metrics } = await pass(loss, sampledWith(0.05));
    expect(measured.metrics["loss:sum"]).toBeCloseTo(metrics["loss:sum"] ?? Number.NaN, 5);
    expect(measured.metrics["loss:sum"]).not.toBe(0);
  }
});

describe("by their definitions", () => {
  it("dro is linear in log-probabilities, less a square of what they changed by", async () => {
    const { metrics } = await pass("dro", sampledWith(0.5), { config: { beta: 0.05 } });
    const expected = -advantage * sumOfSampled() + 4 * 0.5 * 0.05 * 0.5 ** 2;
    expect(metrics["loss:sum"]).toBeCloseTo(expected, 4);
    expect((await pass("dro", sampledWith())).error).toContain("needs the setting beta");
  });

  it("stable_reinforce has ratios of at most 2, which are constants", async () => {
    for (const [shift, ratio] of [
      [0, 1],
      [-0.5, Math.exp(-0.5)],
      [3, 2],
    ] as const) {
      const { metrics } = await pass("stable_reinforce", sampledWith(shift));
      expect(metrics["loss:sum"]).toBeCloseTo(-ratio * advantage * sumOfSampled(), 4);
    }
    const { metrics } = await pass("stable_reinforce", sampledWith(0.5), { config: { kl_coeff: 0.2 } });
    const reward = -Math.exp(0.5) * advantage * sumOfSampled();
    expect(metrics["loss:sum"]).toBeCloseTo(reward + 4 * 0.2 * 0.5 * 0.5 ** 2, 4);
  });
});
