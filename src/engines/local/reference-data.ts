/** Shared by the tests against PyTorch's numbers: the fixtures of tests/fixtures/models, and tolerances. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { AdamOptions, Continuation, Datum, Loss } from "../engine.ts";
import type { LocalEngine } from "./local-engine.ts";
import { readTensor, type SafetensorsFile } from "../../models/safetensors.ts";

export const fixtures = fileURLToPath(new URL("../../../tests/fixtures/models/", import.meta.url));

const adam: AdamOptions = {
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
  engine: LocalEngine,
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
  engine: LocalEngine,
  expected: SafetensorsFile,
  data: readonly Datum[],
  loss: Loss,
): Promise<string[]> {
  for (let step = 0; step < 10; step++) {
    await engine.forwardBackward(data, loss);
    await engine.optimStep("p", adam);
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
