/** A fresh, untrained model directory in the Hugging Face layout. */
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { generatorOf, keyAt, rootKey } from "../random.ts";
import { writeDirectoryDurably } from "../runs/durable.ts";
import type { JsonObject } from "../text/files.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import type { WeightFormat } from "./float-formats.ts";
import { readModelShape, type ModelShape } from "./model-config.ts";
import { modelTensors, parametersOf, readTextFiles, sizeOf, writeModelFiles } from "./model-directory.ts";
import { presets, type Preset } from "./presets.ts";
import type { TensorInfo } from "./safetensors.ts";
import { fillNormal, spelledEmbeddings } from "./spelled-embeddings.ts";

export interface InitOptions {
  /** Must not exist yet. */
  readonly directory: string;
  /** A name in presets.ts, or the sizes. */
  readonly preset: string | Preset;
  /** A directory with tokenizer.json (and chat template), or a tokenizer.json. */
  readonly tokenizer: string;
  /** A non-negative integer: the same seed, preset and vocabulary give the same bits. */
  readonly seed: number;
  /** Standard deviation of every matrix; default 0.03. GPT-2 and Llama use 0.02, at larger widths. */
  readonly standardDeviation?: number;
  /** Longest sequence in tokens; overrides the preset's. */
  readonly maxLength?: number;
  readonly format?: WeightFormat;
}

const usualDeviation = 0.03;

/**
 * @returns the number of parameters. @throws TroupeError `bad_arguments` for an unknown preset or an existing
 * directory, `bad_model` for the tokenizer
 */
export async function initModel(options: InitOptions): Promise<{ parameters: number }> {
  checkOptions(options);
  const preset = typeof options.preset === "string" ? namedPreset(options.preset) : options.preset;
  const tokenizer = await readTokenizer(options.tokenizer);
  const config = configOf({ ...preset, maxLength: options.maxLength ?? preset.maxLength }, tokenizer);
  const shape = readModelShape(`the preset ${JSON.stringify(options.preset)}`, config);
  const tensors = modelTensors(shape);
  const draw = drawTensor(shape, tokenizer.words, options.seed, options.standardDeviation ?? usualDeviation);
  const list = tensors.map((tensor) => ({ ...tensor, values: () => draw(tensor) }));
  const model = { config, shape, textFiles: tokenizer.textFiles };
  await writeDirectoryDurably(resolve(options.directory), (folder) =>
    writeModelFiles(folder, model, list, options.format ?? "F32"),
  );
  return { parameters: parametersOf(tensors) };
}

function checkOptions({ directory, seed, standardDeviation: deviation = usualDeviation }: InitOptions): void {
  if (isPresentSync(directory, "bad_model")) {
    throw new TroupeError("bad_arguments", `${directory} already exists. Choose a new directory.`);
  }
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new TroupeError("bad_arguments", `The seed is ${seed}; expected a whole number of at least 0.`);
  }
  if (!(deviation >= 0) || !Number.isFinite(deviation)) {
    throw new TroupeError(
      "bad_arguments",
      `standardDeviation is ${deviation}; expected a number of at least 0.`,
    );
  }
}

function namedPreset(name: string): Preset {
  const found = Object.entries(presets).find(([known]) => known === name);
  if (found !== undefined) return found[1];
  const known = Object.keys(presets).join(", ");
  throw new TroupeError("bad_arguments", `There is no preset ${JSON.stringify(name)}; there is: ${known}.`);
}

interface TokenizerSource {
  readonly vocabularySize: number;
  /** The text of each token id; empty for special tokens. */
  readonly words: readonly string[];
  readonly endTokens: readonly number[];
  readonly textFiles: ReadonlyMap<string, Uint8Array>;
}

async function readTokenizer(place: string): Promise<TokenizerSource> {
  const isFile = isPresentSync(place, "bad_model") && statSync(place).isFile();
  const loaded = loadTokenizer(isFile ? dirname(place) : place);
  const { vocabularySize, endTokens } = loaded;
  const words = Array.from({ length: vocabularySize }, (_, id) =>
    Buffer.from(loaded.tokenBytes(id)).toString().trim(),
  );
  const textFiles = isFile
    ? new Map([["tokenizer.json", await readFile(place)]])
    : await readTextFiles(place);
  return { vocabularySize, words, endTokens, textFiles };
}

const modelTypes = {
  LlamaForCausalLM: "llama",
  Qwen2ForCausalLM: "qwen2",
  Qwen3ForCausalLM: "qwen3",
} as const;

function configOf(preset: Preset, tokenizer: TokenizerSource): JsonObject {
  return {
    architectures: [preset.architecture],
    model_type: modelTypes[preset.architecture],
    vocab_size: tokenizer.vocabularySize,
    hidden_size: preset.hiddenSize,
    intermediate_size: preset.intermediateSize,
    num_hidden_layers: preset.layers,
    num_attention_heads: preset.heads,
    num_key_value_heads: preset.keyValueHeads,
    head_dim: preset.headSize,
    max_position_embeddings: preset.maxLength,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    hidden_act: "silu",
    attention_dropout: 0,
    tie_word_embeddings: preset.tiedEmbeddings,
    initializer_range: usualDeviation,
    ...(tokenizer.endTokens.length > 0 ? { eos_token_id: tokenizer.endTokens } : {}),
    torch_dtype: "float32",
  };
}

/**
 * Norms are one, biases zero, matrices normal. Projections into the residual stream, of which each layer has two, are
 * scaled by 1/√(2 · layers), so that its variance does not grow with depth (GPT-2, section 2.3). Every tensor has its
 * own key.
 */
function drawTensor(
  shape: ModelShape,
  words: readonly string[],
  seed: number,
  deviation: number,
): (tensor: TensorInfo) => Float32Array {
  const residual = deviation / Math.sqrt(2 * shape.layers);
  return (tensor) => {
    const values = new Float32Array(sizeOf(tensor));
    if (tensor.name.endsWith("norm.weight")) return values.fill(1);
    if (tensor.name === "model.embed_tokens.weight")
      return spelledEmbeddings(words, shape.hiddenSize, seed, deviation);
    if (tensor.name.endsWith(".bias")) return values;
    const scale = /\.(o_proj|down_proj)\./.test(tensor.name) ? residual : deviation;
    return fillNormal(values, generatorOf(keyAt(rootKey(seed), "init", tensor.name)), scale);
  };
}
