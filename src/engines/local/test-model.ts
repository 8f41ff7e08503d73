/** What the tests of this folder share: a temporary folder and a tiny random model in it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { TroupeError, type ErrorCode } from "../../errors.ts";
import { writeWordTokenizer } from "../../text/word-tokenizer.ts";
import type { AdamOptions, Continuation, Datum, PolicyName, SampleRequest } from "../engine.ts";
import { initModel } from "./init.ts";
import { LocalEngine, type LocalEngineOptions } from "./local-engine.ts";
import { presets, type Preset } from "./presets.ts";
import { openSafetensors, readTensor } from "./safetensors.ts";

const folders: string[] = [];
const engines: LocalEngine[] = [];

afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that goes when the test file is done. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "troupe-test-"));
  folders.push(folder);
  return folder;
}

export const tinyPreset: Preset = {
  ...presets.nano,
  hiddenSize: 32,
  headSize: 8,
  heads: 4,
  keyValueHeads: 2,
  intermediateSize: 48,
  maxLength: 64,
};

/** On three of the seven kinds of projections. */
export const adapter = { rank: 3, alpha: 6, targetModules: ["q_proj", "o_proj", "up_proj"], seed: 4 };

/** Six special tokens (ids 0 to 5), then these. */
export const words = ["up", "down", "left", "right", "goal", "wall", "start", "go"];
export const vocabularySize = 6 + words.length;

/** Makes the model `folder/name` of random weights, large enough that its distributions differ from uniform. */
export async function makeModel(
  folder: string,
  name: string,
  options: { seed?: number; preset?: Preset } = {},
): Promise<string> {
  const tokenizer = join(folder, "tokenizer");
  writeWordTokenizer(tokenizer, words);
  const directory = join(folder, name);
  const { seed = 1, preset = tinyPreset } = options;
  await initModel({ directory, preset, tokenizer, seed, standardDeviation: 0.3 });
  return directory;
}

/** An engine in float32 that is closed when the test file is done. */
export function testEngine(options: LocalEngineOptions = {}): LocalEngine {
  const engine = new LocalEngine({ threads: 2, precision: "float32", ...options });
  engines.push(engine);
  return engine;
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

/** Supervised steps on `someDatum`, another one each time; their losses. */
export async function train(engine: LocalEngine, policy: PolicyName, steps: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    losses.push((await engine.forwardBackward([someDatum(policy, step)], { type: "cross_entropy" })).loss);
    await engine.optimStep(policy, adam);
  }
  return losses;
}

/** Every tensor of a safetensors file. */
export async function tensorsOf(file: string): Promise<Record<string, Float32Array>> {
  const opened = await openSafetensors(file);
  const entries = await Promise.all(
    [...opened.tensors.keys()].map(async (name) => [name, await readTensor(opened, name)]),
  );
  return Object.fromEntries(entries);
}

/** Runs `work`, which must fail with a TroupeError of the code, and returns its message. */
export async function failure(code: ErrorCode, work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    expect((error as TroupeError).code).toBe(code);
    return (error as TroupeError).message;
  }
  return expect.unreachable(`expected a ${code}`);
}
