/** Shared by the tests of this folder: an engine, data and requests for a tiny model (../../models/test-model.ts). */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { readTensor, type SafetensorsFile } from "../../models/safetensors.ts";
import { vocabularySize } from "../../models/test-model.ts";
import { atEndOfFile } from "../../test-end.ts";
import type {
  AdamOptions,
  Continuation,
  Datum,
  Engine,
  PolicyName,
  SampleRequest,
  StoredPolicy,
  Loss,
} from "../engine.ts";
import { LocalEngine, type LocalEngineOptions } from "./local-engine.ts";

/** An engine in float32, closed at the end of the test file. */
export function testEngine(options: LocalEngineOptions = {}): LocalEngine {
  const engine = new LocalEngine({ threads: 2, precision: "float32", ...options });
  atEndOfFile(() => engine.close());
  return engine;
}

/** On three of the seven projections. */
export const adapter = { rank: 3, alpha: 6, targetModules: ["q_proj", "o_proj", "up_proj"], seed: 4 };

/** A model directory that looks like a save of a policy. */
export function snapshotAt(directory: string): StoredPolicy {
  const location = basename(directory);
  return {
    saved: { kind: "snapshot", location, version: 0, directory: location },
    folder: dirname(directory),
  };
}

export const adam: AdamOptions = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clipNorm: 1,
};

export function ids(...tokens: number[]): Int32Array {
  return Int32Array.from(tokens);
}

/** One short sequence of the policy `p`. */
export function request(more: Partial<SampleRequest> = {}): SampleRequest {
  return {
    policy: "p",
    prompt: ids(4, 6, 7, 8),
    count: 1,
    maxTokens: 12,
    temperature: 1,
    seed: 5,
    ...more,
  };
}

/** Two continuations of one prompt, for any loss. */
export function someDatum(policy: string, shift = 0): Datum {
  const continuation = (...tokens: number[]): Continuation => ({
    tokens: Int32Array.from(tokens, (token) => (token + shift) % vocabularySize),
    advantages: Float32Array.from(tokens, (_, i) => (i % 2 === 0 ? 1 : -0.5)),
    logprobs: new Float32Array(tokens.length).fill(-2.5),
  });
  return { policy, prompt: ids(4, 7, 8), continuations: [continuation(6, 9, 2), continuation(10, 7)] };
}

/** Two continuations of one prompt with targets, and old values of zero. */
export function valued(policy: string): Datum {
  const { prompt, continuations } = someDatum(policy);
  return { policy, prompt, continuations: continuations.map(withTargets) };
}

function withTargets({ tokens }: Continuation): Continuation {
  return {
    tokens,
    targets: Float32Array.from(tokens, (_, t) => 0.5 + t),
    values: new Float32Array(tokens.length),
  };
}

/** Supervised steps on `someDatum`, each with different data; returns their losses. */
export async function train(engine: LocalEngine, policy: PolicyName, steps: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    losses.push((await engine.forwardBackward([someDatum(policy, step)], { type: "cross_entropy" })).loss);
    await engine.optimStep(policy, adam);
  }
  return losses;
}

export const fixtures = fileURLToPath(new URL("../../../tests/fixtures/models/", import.meta.url));

/** Fixtures with numbers of transformers: whole models, of every architecture. */
export const referenceModels =
  "llama llama-grouped-tied llama3-rope smollm2 mistral mistral-window qwen2 qwen2-window qwen3 qwen3-window smollm3 phi3 phi4-mini gemma3".split(
    " ",
  );
/** The same: PEFT's adapters, and their bases. */
export const referenceAdapters: Readonly<Record<string, string>> = {
  lora: "llama-grouped-tied",
  "phi4-mini-lora": "phi4-mini",
  "gemma3-lora": "gemma3",
};

const referenceAdam: AdamOptions = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-6,
  weightDecay: 0.01,
  clipNorm: 1,
};

type StoredContinuation = Readonly<Record<string, number[]>> & { readonly tokens: number[] };

/** The data of a fixture, for the policy `p`, with all its per-token numbers. */
export function dataOf(name: string): Datum[] {
  const stored = JSON.parse(readFileSync(join(fixtures, name, "data.json"), "utf8")) as {
    prompt: number[];
    continuations: StoredContinuation[];
  }[];
  return stored.map(({ prompt, continuations }) => ({
    policy: "p",
    prompt: Int32Array.from(prompt),
    continuations: continuations.map(continuationOf),
  }));
}

function continuationOf({ tokens, ...numbers }: StoredContinuation): Continuation {
  const arrays = Object.entries(numbers).map(([field, values]) => [field, Float32Array.from(values)]);
  return { tokens: Int32Array.from(tokens), ...Object.fromEntries(arrays) };
}

/** The losses of a fixture, by name. */
export function lossesOf(name: string): [string, Loss][] {
  return Object.entries(JSON.parse(readFileSync(join(fixtures, name, "losses.json"), "utf8")));
}

/**
 * The gradients of policy `p` that differ from the fixture's under `prefix` by more than 1e-4 of the tensor's largest
 * number.
 */
export async function farGradients(
  engine: Pick<LocalEngine, "readTensor">,
  expected: SafetensorsFile,
  prefix: string,
): Promise<string[]> {
  const far: string[] = [];
  for (const tensor of namesAfter(expected, prefix)) {
    const reference = await readTensor(expected, prefix + tensor);
    const found = await engine.readTensor("p", "gradient", tensor);
    if (!(difference(found, reference) < 1e-4)) far.push(tensor);
  }
  return far;
}

/**
 * Takes ten steps and returns the weights of policy `p` that then differ from the fixture's by more than 1e-4 of their
 * length. AdamW divides by the gradient's own size: if that passes through zero, rounding reaches a single weight at
 * full step size (at worst 1.3e-4 of the largest). So whole tensors are compared.
 */
export async function farAfterTenSteps(
  engine: Pick<LocalEngine, "readTensor"> & Pick<Engine, "forwardBackward" | "optimStep">,
  expected: SafetensorsFile,
  data: readonly Datum[],
  loss: Loss,
): Promise<string[]> {
  for (let step = 0; step < 10; step++) {
    await engine.forwardBackward(data, loss);
    await engine.optimStep("p", referenceAdam);
  }
  const far: string[] = [];
  for (const tensor of namesAfter(expected, "adam.")) {
    const reference = await readTensor(expected, `adam.${tensor}`);
    if (!(distance(await engine.readTensor("p", "weight", tensor), reference) < 1e-4)) far.push(tensor);
  }
  return far;
}

/** Names of the file's tensors under a prefix; at least one must exist. */
function namesAfter(file: SafetensorsFile, prefix: string): string[] {
  const names = [...file.tensors.keys()].filter((key) => key.startsWith(prefix));
  expect(names.length).toBeGreaterThan(10);
  return names.map((key) => key.slice(prefix.length));
}

/** The largest difference, relative to the largest expected magnitude. */
export function difference(found: ArrayLike<number>, expected: Float32Array): number {
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
