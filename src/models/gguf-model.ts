/** A policy as one GGUF file: the model's settings and tensors as llama.cpp names them, with the tokenizer. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { TroupeError } from "../errors.ts";
import { ConfigReader } from "./config-reader.ts";
import { mergedModel, type PolicyFiles } from "./exported.ts";
import { writeGguf, type GgufFormat, type GgufMetadata } from "./gguf.ts";
import { tokenizerMetadata } from "./gguf-tokenizer.ts";
import type { ModelShape } from "./model-config.ts";
import { parametersOf, type ModelDescription } from "./model-directory.ts";
import { readRope, type Rope } from "./rope.ts";
import type { TensorToWrite } from "./safetensors-write.ts";

/** The first key of files written here, by which they are recognised. Its value says what they were made from. */
const ggufMarker = "troupe.export";

const fileTypes: Readonly<Record<GgufFormat, number>> = { F32: 0, Q8_0: 7, BF16: 32 };

/** Whether a file was written here. */
export function isOwnGguf(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const file = openSync(path, "r");
  try {
    const begin = Buffer.alloc(32 + ggufMarker.length);
    readSync(file, begin);
    return begin.toString("latin1", 0, 4) === "GGUF" && begin.toString("latin1", 32) === ggufMarker;
  } finally {
    closeSync(file);
  }
}

/** Writes the file in place. @returns the number of parameters */
export async function writePolicyGguf(
  path: string,
  files: PolicyFiles,
  format: GgufFormat,
  origin: string,
): Promise<number> {
  const { model, tensors } = await mergedModel(files);
  const architecture = architectureOf(model);
  const rope = readRope(new ConfigReader("config.json", model.config), model.shape.headSize);
  const metadata: GgufMetadata = [
    [ggufMarker, origin],
    ["general.architecture", architecture],
    ["general.type", "model"],
    ["general.file_type", fileTypes[format]],
    ["general.quantization_version", 2],
    ...settingsOf(architecture, model, rope),
    ...tokenizerMetadata(files.text, model.shape.vocabularySize),
  ];
  const written = tensors.map((tensor) => renamed(tensor, architecture, model.shape));
  await writeGguf(path, metadata, [...written, ...ropeFactors(architecture, rope)], format);
  return parametersOf(tensors);
}

/** Llama and Mistral have the same arithmetic, and one name in llama.cpp. @throws TroupeError `bad_model` */
function architectureOf({ config, shape }: ModelDescription): "llama" | "qwen2" | "qwen3" {
  const { queryKeyNorm, queryKeyValueBias, fusedProjections, normedOutputs, layerRopes } = shape;
  if (fusedProjections || normedOutputs || layerRopes.includes(-1)) {
    const problem = `GGUF files are written for Llama, Mistral, Qwen2 and Qwen3, not for ${String(config["model_type"])}`;
    const fix = "use `--to merged`, which convert_hf_to_gguf.py of llama.cpp reads";
    throw new TroupeError("bad_model", `${problem}; ${fix}`);
  }
  if (queryKeyNorm) return "qwen3";
  return queryKeyValueBias ? "qwen2" : "llama";
}

/** llama.cpp has no windows for these architectures: up to this length they have no effect. */
function contextOf({ maxLength, windows }: ModelShape): number {
  return Math.min(maxLength, ...windows.filter((window) => window > 0));
}

function settingsOf(architecture: string, { shape }: ModelDescription, rope: Rope): GgufMetadata {
  const scaling: GgufMetadata = [
    ["rope.scaling.type", "linear"],
    ["rope.scaling.factor", { float32: rope.factor }],
  ];
  const settings: GgufMetadata = [
    ["vocab_size", shape.vocabularySize],
    ["context_length", contextOf(shape)],
    ["embedding_length", shape.hiddenSize],
    ["block_count", shape.layers],
    ["feed_forward_length", shape.intermediateSize],
    ["attention.head_count", shape.heads],
    ["attention.head_count_kv", shape.keyValueHeads],
    ["attention.key_length", shape.headSize],
    ["attention.value_length", shape.headSize],
    ["attention.layer_norm_rms_epsilon", { float32: shape.rmsEpsilon }],
    ["rope.dimension_count", shape.headSize],
    ["rope.freq_base", { float32: rope.theta }],
    ...(rope.scaling === "linear" ? scaling : []),
  ];
  return settings.map(([key, value]) => [`${architecture}.${key}`, value] as const);
}

/** Llama 3's scaling is written as a divisor for each frequency. */
function ropeFactors(architecture: string, { scaling, plain, frequencies }: Rope): TensorToWrite[] {
  if (scaling !== "llama3") return [];
  if (architecture !== "llama") {
    const problem = `config.json has the rope scaling llama3, which llama.cpp knows for Llama only, not for ${architecture}`;
    throw new TroupeError("bad_model", `${problem}; use \`--to merged\``);
  }
  const values = (): Float32Array => plain.map((frequency, i) => frequency / (frequencies[i] as number));
  return [{ name: "rope_freqs.weight", shape: [plain.length], values }];
}

const names: Readonly<Record<string, string>> = {
  "model.embed_tokens": "token_embd",
  "model.norm": "output_norm",
  lm_head: "output",
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};

function renamed(tensor: TensorToWrite, architecture: string, shape: ModelShape): TensorToWrite {
  const [, layer, module = "", kind = ""] =
    /^(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(tensor.name) ?? [];
  const name = names[module];
  if (name === undefined) throw new TroupeError("internal", `the tensor ${tensor.name} has no name in GGUF`);
  const place = layer === undefined ? name : `blk.${layer}.${name}`;
  const heads = { attn_q: shape.heads, attn_k: shape.keyValueHeads }[name];
  const values =
    architecture === "llama" && heads !== undefined
      ? async () => interleaved(await tensor.values(), heads, shape.headSize)
      : tensor.values;
  return { name: `${place}.${kind}`, shape: tensor.shape, values };
}

/**
 * Rotary embeddings turn pairs of a head's dimensions: i and i + half in Hugging Face's files; in llama.cpp's of Llama
 * the neighbours 2i and 2i + 1. So the rows of queries and keys are written in another order.
 */
function interleaved(values: Float32Array, heads: number, headSize: number): Float32Array {
  const columns = values.length / (heads * headSize);
  const half = headSize / 2;
  const ordered = new Float32Array(values.length);
  for (let row = 0; row < heads * headSize; row++) {
    const [head, inside] = [Math.floor(row / headSize), row % headSize];
    const from = head * headSize + (inside % 2) * half + Math.floor(inside / 2);
    ordered.set(values.subarray(from * columns, (from + 1) * columns), row * columns);
  }
  return ordered;
}
