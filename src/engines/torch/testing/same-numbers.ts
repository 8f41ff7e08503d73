/** How far the numbers of two engines are apart, of one model: for a test with small ones, and to measure large ones. */
import { basename, join } from "node:path";
import { openSafetensors } from "../../../models/safetensors.ts";
import { makeVariedModel } from "../../../models/test-model.ts";
import type { Preset } from "../../../models/presets.ts";
import { drawInt, generatorOf, rootKey } from "../../../random.ts";
import { writeWordTokenizer } from "../../../text/word-tokenizer.ts";
import type { AdamOptions, Continuation, Datum, Engine, Loss, PolicyOptions } from "../../engine.ts";

/** Of both engines. */
export type ReadableEngine = Engine & {
  export(policy: string, directory: string): Promise<void>;
  readTensor(policy: string, kind: "weight" | "gradient", tensor: string): Promise<Float32Array>;
};

const architectures = {
  llama: ["LlamaForCausalLM", {}],
  mistral: [
    "LlamaForCausalLM",
    { architectures: ["MistralForCausalLM"], model_type: "mistral", sliding_window: null },
  ],
  qwen2: ["Qwen2ForCausalLM", {}],
  qwen3: ["Qwen3ForCausalLM", {}],
  smollm3: [
    "LlamaForCausalLM",
    { architectures: ["SmolLM3ForCausalLM"], model_type: "smollm3", no_rope_layers: [1, 0], pad_token_id: 0 },
  ],
  phi3: [
    "LlamaForCausalLM",
    { architectures: ["Phi3ForCausalLM"], model_type: "phi3", sliding_window: 8, pad_token_id: 0 },
  ],
  gemma3: [
    "LlamaForCausalLM",
    {
      architectures: ["Gemma3ForCausalLM"],
      model_type: "gemma3_text",
      hidden_act: "gelu_pytorch_tanh",
      query_pre_attn_scalar: 20,
      sliding_window: 8,
      layer_types: ["sliding_attention", "full_attention"],
      rope_local_base_freq: 100,
    },
  ],
} as const;

export type Architecture = keyof typeof architectures;
export const architectureNames = Object.keys(architectures) as Architecture[];

/** A model with random weights and as many words as asked for. */
export function makeArchitecture(
  folder: string,
  name: Architecture,
  preset: Omit<Preset, "architecture">,
  words: number,
): Promise<string> {
  const tokenizer = join(folder, "tokenizer");
  writeWordTokenizer(
    tokenizer,
    Array.from({ length: words }, (_, index) => `word${index}`),
  );
  const [architecture, settings] = architectures[name];
  return makeVariedModel(join(folder, name), { ...preset, architecture }, tokenizer, settings);
}

const reinforced: Readonly<Record<string, Loss>> = {
  cross_entropy: { type: "cross_entropy" },
  importance_sampling: { type: "importance_sampling", kl: "k1" },
  ppo: { type: "ppo", clipLow: 0.2, clipHigh: 0.28, kl: "k3" },
  "ppo, dual clip, entropy": {
    type: "ppo",
    clipLow: 0.2,
    clipHigh: 0.2,
    dualClip: 1.5,
    entropy: 0.01,
    kl: "k2",
  },
  "ppo, ratio per sequence": { type: "ppo", clipLow: 0.2, clipHigh: 0.28, ratio: "sequence" },
  cispo: { type: "cispo", clipLow: 0.2, clipHigh: 0.28, kl: "k3" },
};
const valued: Readonly<Record<string, Loss>> = {
  value: { type: "value" },
  "value, clip": { type: "value", clip: 0.2 },
};
const adapter = { rank: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "o_proj", "down_proj"], seed: 5 };
/** Of Phi-3, which has no others. */
const fusedModules = ["qkv_proj", "o_proj", "down_proj"];

export const policyKinds = {
  "whole model": { losses: reinforced, options: {} },
  adapter: { losses: reinforced, options: { adapter } },
  critic: { losses: valued, options: { valueHead: true } },
  "critic's adapter": { losses: valued, options: { adapter, valueHead: true } },
} satisfies Record<string, { losses: Readonly<Record<string, Loss>>; options: Partial<PolicyOptions> }>;
export type PolicyKind = keyof typeof policyKinds;

export const adam: AdamOptions = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-6,
  weightDecay: 0.01,
  clipNorm: 1,
};

export interface Apart {
  /** The largest difference of a log-probability or a value. */
  outputs: number;
  /** Relative to the tensor's largest, or to a thousandth of the policy's largest. */
  gradients: number;
  /** After ten steps: the length of the difference, relative to the tensor's. */
  weights: number;
}

export async function apart(
  [local, torch]: readonly [ReadableEngine, ReadableEngine],
  folder: string,
  model: string,
  kind: PolicyKind,
  lossName: string,
): Promise<Apart> {
  const losses: Readonly<Record<string, Loss>> = policyKinds[kind].losses;
  const loss = losses[lossName] as Loss;
  const both = <T>(work: (engine: ReadableEngine) => Promise<T>) => Promise.all([work(local), work(torch)]);
  const options: Partial<PolicyOptions> = policyKinds[kind].options;
  const fused = options.adapter && { adapter: { ...options.adapter, targetModules: fusedModules } };
  const changed = basename(model) === "phi3" ? fused : {};
  await both((engine) => engine.createPolicy({ ...options, ...changed, name: "p", model }));
  if ("adapter" in policyKinds[kind].options)
    await both((engine) => firstStep(engine, lossName.startsWith("value")));
  const data = await dataFor(local, loss);
  const results = await both((engine) => engine.forwardBackward(data, loss));
  const outputs = results.map(({ logprobs, values }) => (values ?? logprobs).flatMap((each) => [...each]));
  const saved = join(folder, `saved ${kind}`);
  await local.export("p", saved);
  const file = join(
    saved,
    "adapter" in policyKinds[kind].options ? "adapter_model.safetensors" : "model.safetensors",
  );
  const names = [...(await openSafetensors(file)).tensors.keys()];
  const found: Apart = {
    outputs: largest((outputs[0] ?? []).map((each, index) => each - (outputs[1]?.[index] ?? NaN))),
    gradients: 0,
    weights: 0,
  };
  const gradients = [];
  for (const name of names) gradients.push(await both((engine) => engine.readTensor("p", "gradient", name)));
  const floor = Math.max(...gradients.map(([own]) => largest(own))) / 1000;
  for (const [own, other] of gradients)
    found.gradients = Math.max(found.gradients, largest(minus(own, other)) / Math.max(largest(own), floor));
  for (let step = 0; step < 10; step++)
    await both(async (engine) => {
      if (step > 0) await engine.forwardBackward(data, loss);
      await engine.optimStep("p", adam);
    });
  for (const name of names) {
    const [own, other] = await both((engine) => engine.readTensor("p", "weight", name));
    found.weights = Math.max(found.weights, lengthOf(minus(own, other)) / lengthOf(own));
  }
  await both((engine) => engine.removePolicy("p"));
  return found;
}

/** B of a fresh adapter is zero, and so would be every gradient of A. */
export async function firstStep(engine: Engine, isCritic: boolean): Promise<void> {
  const loss: Loss = { type: isCritic ? "value" : "cross_entropy" };
  await engine.forwardBackward(someData(new Float32Array(24)), loss);
  await engine.optimStep("p", adam);
}

/** The sampled and the reference's log-probabilities are near the policy's own, so that some ratios are clipped. */
export async function dataFor(engine: Engine, loss: Loss): Promise<Datum[]> {
  if (loss.type === "value") return someData(new Float32Array(24));
  const { logprobs } = await engine.forward(someData(new Float32Array(24)));
  return someData(Float32Array.from(logprobs.flatMap((each) => [...each])));
}

/** Two prompts, each with two continuations of six tokens, in 20 words. */
function someData(logprobs: Float32Array): Datum[] {
  const generator = generatorOf(rootKey(11));
  const token = () => 6 + drawInt(generator, 20);
  const number = () => drawInt(generator, 2000) / 1000 - 1;
  let at = 0;
  const continuation = (): Continuation => {
    const own = logprobs.slice(at, (at += 6));
    return {
      tokens: Int32Array.from({ length: 6 }, token),
      weights: six(() => 1 + number() / 2),
      advantages: six(number),
      logprobs: six((place) => (own[place] as number) + number() / 2),
      reference: six((place) => (own[place] as number) + number() / 2),
      penalties: six(() => 0.05),
      targets: six(number),
      values: six(() => number() / 2),
    };
  };
  return [9, 14].map((length) => ({
    policy: "p",
    prompt: Int32Array.from({ length }, token),
    continuations: [continuation(), continuation()],
  }));
}

const six = (make: (place: number) => number): Float32Array =>
  Float32Array.from({ length: 6 }, (_, place) => make(place));

const largest = (values: ArrayLike<number>): number => {
  let found = 0;
  // Math.max keeps NaN, so that what is no number is never small.
  for (let index = 0; index < values.length; index++)
    found = Math.max(found, Math.abs(values[index] as number));
  return found;
};
const minus = (one: Float32Array, other: Float32Array): Float32Array =>
  one.map((value, i) => value - (other[i] ?? NaN));
const lengthOf = (values: Float32Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
