/** Losses of ordinary clients: nothing but the tokens that they sampled counts, and each loss is what it is defined as. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeCall, type LossCall } from "../protocol/forward-backward.ts";
import { ownServers, resultOf, type Send } from "../testing/own-server.ts";

const { open } = await ownServers(afterAll);

/** A prompt, a reply, what another wrote, and a second reply. */
const tokens = Int32Array.of(1, 6, 7, 8, 9, 5, 6, 7);
const targets = Int32Array.of(6, 7, 8, 9, 5, 6, 7, 8);
const sampled = [0, 0, 1, 1, 0, 0, 1, 1];
const length = sampled.length;
const advantage = 1.5;

let ask: Send;
let id: string;
let number = 0;
/** Of the model as it is. */
let now: number[];

beforeAll(async () => {
  ({ ask, id } = await open());
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
    expect(metrics["clipped:sum"]).toBe(0);
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

describe("what makes no sense is rejected, with a gradient and without", () => {
  it.each([
    ["dro", { beta: -0.1 }, "beta of the loss dro is -0.1; expected a number of at least 0"],
    ["dro", { beta: Number.NaN }, "beta of the loss dro is NaN"],
    ["stable_reinforce", { kl_coeff: -1 }, "kl_coeff of the loss stable_reinforce is -1"],
    ["ppo", { clip_low_threshold: 1.5 }, "of the loss ppo is 1.5; expected a number of at most 1"],
    ["cispo", { clip_high_threshold: 0.5 }, "clip_high_threshold of the loss cispo is 0.5"],
    ["ppo", { dual_clip: 0.5 }, "dual_clip of the loss ppo is 0.5; expected a number above 1"],
    ["ppo", { ratio: "group" }, 'ratio of the loss ppo is "group"; expected token or sequence'],
    ["gspo", { ratio: "token" }, 'ratio of the loss gspo is "token"; expected sequence'],
    ["importance_sampling", { kl: "k7" }, 'is "k7"; expected k1 or k2 or k3'],
    ["importance_sampling", { entropy: "much" }, "expected a number"],
  ])("%s with %j", async (loss, config, message) => {
    for (const forwardOnly of [false, true])
      expect((await pass(loss, sampledWith(), { config, forwardOnly })).error).toContain(message);
  });

  it("what the protocol allows is not", async () => {
    for (const [loss, config] of [
      ["dro", { beta: 0 }],
      ["stable_reinforce", { kl_coeff: 0 }],
      ["cispo", { clip_low_threshold: 0 }],
      ["ppo", { clip_low_threshold: 1, clip_high_threshold: 1 }],
      ["importance_sampling", { entropy: -0.1 }],
    ] as const)
      expect((await pass(loss, sampledWith(), { config })).error).toBeUndefined();
  });

  it("a reference that the loss would replace by its own", async () => {
    const given = { ...sampledWith(), reference_logprobs: now };
    const { error } = await pass("dro", given, { config: { beta: 0.1 } });
    expect(error).toContain("data[0] has the input reference_logprobs");
  });

  it("a mask of parts of tokens", async () => {
    const { error } = await pass("ppo", { ...sampledWith(), mask: sampled.map((each) => each / 2) });
    expect(error).toContain("is 0.5; expected 0 or 1");
  });
});
