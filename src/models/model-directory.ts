/** A whole model in the Hugging Face layout: config.json, weights, tokenizer files, chat template. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { checkRegular, readObject, type JsonObject } from "../text/files.ts";
import { modulesOf, type AdapterOptions } from "./adapter-options.ts";
import type { WeightFormat } from "./float-formats.ts";
import { criticConfig, readModelShape, type ModelShape } from "./model-config.ts";
import { writeSafetensors, type TensorToWrite } from "./safetensors-write.ts";
import type { TensorInfo } from "./safetensors.ts";
import { checkWeights, openWeights, type Weights } from "./weights.ts";

/** Files that are copied with a model. */
const textFileNames = [
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "chat_template.jinja",
  "chat_template.json",
] as const;

export interface ModelDescription {
  readonly config: JsonObject;
  readonly shape: ModelShape;
  /** Tokenizer files by name; kept in memory so that saving works after the directory is gone. */
  readonly textFiles: ReadonlyMap<string, Uint8Array>;
}

/** Reads everything except the weights. */
export async function describeModel(directory: string): Promise<ModelDescription> {
  if (!isPresentSync(directory, "bad_model")) {
    throw new TroupeError(
      "bad_model",
      `${directory} does not exist. Use a model directory, or create one with \`${command("init")}\`.`,
    );
  }
  const config = readObject(directory, "config.json");
  const shape = readModelShape(join(directory, "config.json"), config);
  return { config, shape, textFiles: await readTextFiles(directory) };
}

/** A critic on the model's trunk; a critic stays as it is. */
export function asCritic(model: ModelDescription): ModelDescription {
  if (model.shape.valueHead) return model;
  return { ...model, config: criticConfig(model.config), shape: { ...model.shape, valueHead: true } };
}

/** @throws TroupeError `bad_model` for a critic's directory, which has no logits and cannot be a policy */
export function checkHead(directory: string, { shape }: ModelDescription, valueHead: boolean): void {
  if (valueHead || !shape.valueHead) return;
  const fix = "Give the policy a value head, or use another model";
  throw new TroupeError("bad_model", `${directory} contains a critic, which cannot be sampled. ${fix}.`);
}

export async function readTextFiles(directory: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const name of textFileNames) {
    const file = join(directory, name);
    if (isPresentSync(file, "bad_model")) files.set(name, await readTextFile(file));
  }
  return files;
}

async function readTextFile(file: string): Promise<Uint8Array> {
  checkRegular(file);
  return readFile(file).catch((cause: unknown) => {
    throw new TroupeError("bad_model", `${file} cannot be read (${String(cause)}).`, { cause });
  });
}

/** Opens the model's weights and checks them against its shape; only headers are read. */
export async function openModelWeights(directory: string, shape: ModelShape): Promise<Weights> {
  const weights = await openWeights(directory, "model");
  const ignorable = (name: string): boolean =>
    name.endsWith(".rotary_emb.inv_freq") || (shape.tiedEmbeddings && name === "lm_head.weight");
  checkWeights(directory, weights, modelTensors(shape), ignorable);
  return weights;
}

export async function writeTextFiles(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes);
}

/** Writes a model directory's files into an existing folder. */
export async function writeModelFiles(
  folder: string,
  model: ModelDescription,
  tensors: readonly TensorToWrite[],
  format: WeightFormat,
): Promise<void> {
  const dtype = { F32: "float32", BF16: "bfloat16", F16: "float16" }[format];
  const key = "dtype" in model.config ? "dtype" : "torch_dtype"; // transformers 5 and before
  await writeFile(
    join(folder, "config.json"),
    `${JSON.stringify({ ...model.config, [key]: dtype }, null, 2)}\n`,
  );
  await writeTextFiles(folder, model.textFiles);
  await writeSafetensors(join(folder, "model.safetensors"), tensors, { format, metadata: { format: "pt" } });
}

/** Names and shapes of a model's weights, as transformers writes them. */
export function modelTensors(shape: ModelShape): TensorInfo[] {
  const embedding = [shape.vocabularySize, shape.hiddenSize];
  const layers = Array.from({ length: shape.layers }, (_, layer) =>
    layerTensors(shape, `model.layers.${layer}.`),
  );
  return [
    { name: "model.embed_tokens.weight", shape: embedding },
    ...layers.flat(),
    { name: "model.norm.weight", shape: [shape.hiddenSize] },
    ...headTensors(shape),
  ];
}

function headTensors({ valueHead, tiedEmbeddings, vocabularySize, hiddenSize }: ModelShape): TensorInfo[] {
  if (valueHead) {
    return [
      { name: "score.weight", shape: [1, hiddenSize] },
      { name: "score.bias", shape: [1] },
    ];
  }
  return tiedEmbeddings ? [] : [{ name: "lm_head.weight", shape: [vocabularySize, hiddenSize] }];
}

function layerTensors(model: ModelShape, prefix: string): TensorInfo[] {
  const { hiddenSize: hidden, intermediateSize: intermediate, headSize } = model;
  const queries = model.heads * headSize;
  const keys = model.keyValueHeads * headSize;
  const tensor = (name: string, ...shape: number[]): TensorInfo => ({ name: `${prefix}${name}`, shape });
  const bias = [
    tensor("self_attn.q_proj.bias", queries),
    tensor("self_attn.k_proj.bias", keys),
    tensor("self_attn.v_proj.bias", keys),
  ];
  const norms = [tensor("self_attn.q_norm.weight", headSize), tensor("self_attn.k_norm.weight", headSize)];
  const queryKeyValue = model.fusedProjections
    ? [tensor("self_attn.qkv_proj.weight", queries + 2 * keys, hidden)]
    : [
        tensor("self_attn.q_proj.weight", queries, hidden),
        tensor("self_attn.k_proj.weight", keys, hidden),
        tensor("self_attn.v_proj.weight", keys, hidden),
      ];
  const gateUp = model.fusedProjections
    ? [tensor("mlp.gate_up_proj.weight", 2 * intermediate, hidden)]
    : [
        tensor("mlp.gate_proj.weight", intermediate, hidden),
        tensor("mlp.up_proj.weight", intermediate, hidden),
      ];
  const aroundLayer = ["pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight"];
  return [
    tensor("input_layernorm.weight", hidden),
    ...queryKeyValue,
    tensor("self_attn.o_proj.weight", hidden, queries),
    ...(model.queryKeyValueBias ? bias : []),
    ...(model.queryKeyNorm ? norms : []),
    ...gateUp,
    tensor("mlp.down_proj.weight", hidden, intermediate),
    tensor("post_attention_layernorm.weight", hidden),
    ...(model.normedOutputs ? aroundLayer.map((name) => tensor(name, hidden)) : []),
  ];
}

export function sizeOf(tensor: TensorInfo): number {
  return tensor.shape.reduce((product, size) => product * size, 1);
}

/** A rank-r pair of matrices for each projection [out, in] has r · (out + in) numbers. */
export function adapterParameters(
  tensors: readonly TensorInfo[],
  { rank, targetModules }: Pick<AdapterOptions, "rank" | "targetModules">,
): number {
  const modules = modulesOf(tensors, targetModules);
  const targets = tensors.filter(({ name }) => modules.some((module) => name.endsWith(`.${module}.weight`)));
  return targets.reduce((sum, { shape: [rows = 0, columns = 0] }) => sum + rank * (rows + columns), 0);
}

export function parametersOf(tensors: readonly TensorInfo[]): number {
  return tensors.reduce((sum, tensor) => sum + sizeOf(tensor), 0);
}
