import { expect, test } from "vitest";
import type { Datum, LossResult } from "../engines/engine.ts";
import { adamAt, updatePolicy } from "./update.ts";
import type { OptimizerSettings } from "./update.ts";

const settings: OptimizerSettings = {
  learningRate: 1,
  schedule: "linear",
  finalLearningRate: 0,
  warmupSteps: 1,
  steps: 4,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  clipNorm: 2,
};
const datum: Datum = {
  policy: "p",
  prompt: Int32Array.of(1),
  continuations: [
    { tokens: Int32Array.of(2, 3) },
    { tokens: Int32Array.of(2, 3, 4), weights: Float32Array.of(0, 0.5, 0.25) },
  ],
};
const result: LossResult = { loss: 3, tokens: 4, entropy: 8, kl: 1, clipped: 2, logprobs: [] };

function engineOf(results: readonly LossResult[], norms: readonly number[]) {
  const [left, leftNorms] = [[...results], [...norms]];
  return {
    forwardBackward: () => Promise.resolve(left.shift() ?? result),
    optimStep: () => Promise.resolve({ gradientNorm: leftNorms.shift() ?? 0 }),
  };
}

test("Adam's options follow the schedule; a policy's own learning rate overrides the stage's", () => {
  expect(adamAt(settings, 1).learningRate).toBe(0.5);
  expect(adamAt(settings, 3, 10).learningRate).toBe(5);
  expect(adamAt(settings, 2)).toEqual({
    learningRate: 1,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0.1,
    clipNorm: 2,
  });
});

test("the metrics are means per token over all optimizer steps; empty batches make none", async () => {
  const other: LossResult = { loss: 5, tokens: 12, entropy: 0, kl: 3, clipped: 0, logprobs: [] };
  const engine = engineOf([result, other], [0.5, 0.25]);
  const update = { policy: "p", loss: { type: "cross_entropy" }, adam: adamAt(settings, 2) } as const;
  expect(await updatePolicy(engine, { ...update, batches: [[datum], [], [datum]] })).toEqual({
    loss: 4,
    tokens: 8, // two batches of 2 + 2: a weight of 0 trains nothing
    optimizerSteps: 2,
    learningRate: 1,
    gradientNorm: 0.5,
    entropy: 0.5,
    kl: 0.25,
    clipShare: 0.125,
  });
});

test("what the engine does not measure is absent from the metrics", async () => {
  const { entropy: _, ...bare } = result;
  const engine = {
    forwardBackward: () => Promise.resolve(bare),
    optimStep: () => Promise.resolve({}),
  };
  const update = { policy: "p", loss: { type: "cross_entropy" }, adam: adamAt(settings, 2) } as const;
  expect(await updatePolicy(engine, { ...update, batches: [[datum], [datum]] })).toEqual({
    loss: 3,
    tokens: 8,
    optimizerSteps: 2,
    learningRate: 1,
    kl: 0.25,
    clipShare: 0.5,
  });
});

test("all minibatches are submitted together; if several fail, the first error is thrown", async () => {
  const calls: string[] = [];
  const engine = {
    forwardBackward: () => {
      calls.push("gradients");
      return Promise.reject(new Error("no gradients"));
    },
    optimStep: () => {
      calls.push("step");
      return Promise.reject(new Error("nothing to step with"));
    },
  };
  const update = { policy: "p", loss: { type: "cross_entropy" }, adam: adamAt(settings, 2) } as const;
  await expect(updatePolicy(engine, { ...update, batches: [[datum], [datum]] })).rejects.toThrow(
    "no gradients",
  );
  expect(calls).toEqual(["gradients", "step", "gradients", "step"]);
});

test("a step without an update has measured neither entropy nor divergence", async () => {
  const update = { policy: "p", loss: { type: "cross_entropy" }, adam: adamAt(settings, 2) } as const;
  const metrics = await updatePolicy(engineOf([], []), { ...update, batches: [[]] });
  expect(metrics).toEqual({
    loss: 0,
    tokens: 0,
    optimizerSteps: 0,
    learningRate: 1,
    gradientNorm: 0,
    clipShare: 0,
  });
});

test.each([
  [Number.NaN, 1, 0],
  [1, Number.POSITIVE_INFINITY, 0],
  [1, 1, Number.POSITIVE_INFINITY],
])(
  "a loss of %d, a gradient of norm %d, a divergence of %d: the run ends with advice",
  async (loss, norm, kl) => {
    const engine = engineOf([{ ...result, loss, kl }], [norm]);
    const update = {
      policy: "p",
      loss: { type: "cross_entropy" },
      batches: [[datum]],
      adam: adamAt(settings, 2),
    } as const;
    await expect(updatePolicy(engine, update)).rejects.toThrow(
      /diverged.*policy p.*learning rate was 1; lower it/s,
    );
  },
);
