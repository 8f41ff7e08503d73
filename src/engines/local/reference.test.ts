/**
 * The engine beside PyTorch, transformers and PEFT: numbers made in float64 by tests/fixtures/models/make.py.
 * Every comparison is of float32 with a tolerance of 1e-4 relative to the largest number of the tensor.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import type { AdamOptions, Datum, Loss } from "../engine.ts";
import type { LocalEngine } from "./local-engine.ts";
import { openSafetensors, readTensor, type SafetensorsFile } from "./safetensors.ts";
import { temporaryFolder, testEngine } from "./test-model.ts";

const fixtures = fileURLToPath(new URL("../../../tests/fixtures/models/", import.meta.url));
const adam: AdamOptions = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-6,
  weightDecay: 0.01,
  clipNorm: 1,
};
const losses: readonly Loss[] = [
  { type: "cross_entropy" },
  { type: "importance_sampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
];
const adapter = {
  rank: 3,
  alpha: 12,
  targetModules: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"],
  seed: 0,
};

interface StoredContinuation {
  tokens: number[];
  weights: number[];
  advantages: number[];
  logprobs: number[];
}

function dataOf(name: string): Datum[] {
  const stored = JSON.parse(readFileSync(join(fixtures, name, "data.json"), "utf8")) as {
    prompt: number[];
    continuations: StoredContinuation[];
  }[];
  return stored.map(({ prompt, continuations }) => ({
    policy: "p",
    prompt: Int32Array.from(prompt),
    continuations: continuations.map(({ tokens, weights, advantages, logprobs }) => ({
      tokens: Int32Array.from(tokens),
      weights: Float32Array.from(weights),
      advantages: Float32Array.from(advantages),
      logprobs: Float32Array.from(logprobs),
    })),
  }));
}

/** The largest difference, relative to the largest expected magnitude. */
function difference(found: ArrayLike<number>, expected: Float32Array): number {
  expect(found).toHaveLength(expected.length);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  return (
    expected.reduce((most, value, i) => Math.max(most, Math.abs((found[i] as number) - value)), 0) / largest
  );
}

/** The Euclidean length of the difference, relative to the expected one's. */
function distance(found: Float32Array, expected: Float32Array): number {
  return lengthOf(expected.map((value, i) => (found[i] as number) - value)) / lengthOf(expected);
}

function lengthOf(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

/** log-softmax of the rows that predict the continuation's tokens, from transformers' logits [tokens, vocabulary]. */
function tokenLogprobs(logits: Float32Array, prompt: Int32Array, tokens: Int32Array): Float32Array {
  const width = logits.length / (prompt.length + tokens.length);
  return Float32Array.from(tokens, (token, t) => {
    const row = logits.subarray((prompt.length - 1 + t) * width, (prompt.length + t) * width);
    return (row[token] as number) - Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0));
  });
}

const variants = ["llama", "llama-grouped-tied", "llama3-rope", "mistral", "qwen2", "qwen3", "lora"];

describe.each(variants)("%s", (name) => {
  const data = dataOf(name);
  let expected: SafetensorsFile;
  let engine: LocalEngine;

  beforeAll(async () => {
    expected = await openSafetensors(join(fixtures, name, "expected.safetensors"));
    engine = testEngine();
    if (name === "lora") {
      await engine.createPolicy({ name: "p", model: join(fixtures, "llama-grouped-tied"), adapter });
      await engine.load("p", join(fixtures, name));
    } else {
      await engine.createPolicy({ name: "p", model: join(fixtures, name) });
    }
  });

  const namesAfter = (prefix: string): string[] =>
    [...expected.tensors.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));

  test("log-probabilities", async () => {
    const { logprobs } = await engine.forward(data);
    const sequences = data.flatMap(({ prompt, continuations }) =>
      continuations.map(({ tokens }) => ({ prompt, tokens })),
    );
    for (const [i, { prompt, tokens }] of sequences.entries()) {
      const reference = tokenLogprobs(await readTensor(expected, `logits.${i}`), prompt, tokens);
      expect(difference(logprobs[i] as Float32Array, reference)).toBeLessThan(1e-4);
    }
  });

  test.each(losses)("$type: the loss and every gradient", async (loss) => {
    const result = await engine.forwardBackward(data, loss);
    expect(difference([result.loss], await readTensor(expected, `${loss.type}.loss`))).toBeLessThan(1e-4);
    const names = namesAfter(`${loss.type}.gradient.`);
    expect(names.length).toBeGreaterThan(10);
    for (const tensor of names) {
      const reference = await readTensor(expected, `${loss.type}.gradient.${tensor}`);
      const found = difference(await engine.readTensor("p", "gradient", tensor), reference);
      expect({ tensor, close: found < 1e-4 }).toEqual({ tensor, close: true });
    }
    await engine.zeroGradients("p");
  });

  // AdamW divides by the gradient's own size: where that passes through zero, rounding is carried at full step size into
  // a single weight (1.3e-4 of the largest, at worst). So whole tensors are compared.
  test("ten steps of AdamW", async () => {
    for (let step = 0; step < 10; step++) {
      await engine.forwardBackward(data, { type: "cross_entropy" });
      await engine.optimStep("p", adam);
    }
    for (const tensor of namesAfter("adam.")) {
      const found = distance(
        await engine.readTensor("p", "weight", tensor),
        await readTensor(expected, `adam.${tensor}`),
      );
      expect({ tensor, close: found < 1e-4 }).toEqual({ tensor, close: true });
    }
  });
});

test("a PEFT adapter survives saving bit for bit", async () => {
  const engine = testEngine();
  const folder = temporaryFolder();
  await engine.createPolicy({ name: "p", model: join(fixtures, "llama-grouped-tied"), adapter });
  await engine.load("p", join(fixtures, "lora"));
  await engine.save("p", join(folder, "saved"));
  const [original, saved] = await Promise.all(
    [join(fixtures, "lora"), join(folder, "saved")].map((place) =>
      openSafetensors(join(place, "adapter_model.safetensors")),
    ),
  );
  for (const name of (original as SafetensorsFile).tensors.keys()) {
    expect(await readTensor(saved as SafetensorsFile, name)).toEqual(
      await readTensor(original as SafetensorsFile, name),
    );
  }
});
