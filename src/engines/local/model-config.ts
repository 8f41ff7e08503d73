/**
 * config.json of the Hugging Face layout as the shape of a model this engine computes. A setting that would change the
 * arithmetic in a way the engine does not know is refused by name, never ignored.
 */
import type { JsonObject } from "../../text/files.ts";
import { ConfigReader } from "./config-reader.ts";
import { readInverseFrequencies } from "./rope.ts";

/** Everything the arithmetic depends on. */
export interface ModelShape {
  readonly vocabularySize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  /** Longest sequence in tokens, prompt included. */
  readonly maxLength: number;
  readonly rmsEpsilon: number;
  readonly queryKeyValueBias: boolean;
  readonly queryKeyNorm: boolean;
  readonly tiedEmbeddings: boolean;
  /** Rotary frequencies, [headSize / 2]; scaling for long contexts is in them. */
  readonly inverseFrequencies: Float32Array;
}

interface Architecture {
  readonly name: string;
  readonly modelType: string;
  readonly queryKeyValueBias: boolean;
  readonly queryKeyNorm: boolean;
  /** transformers' default where config.json says nothing; absent: hidden_size / num_attention_heads. */
  readonly defaultHeadSize?: number;
  /** Whether sliding_window counts only where use_sliding_window is true. */
  readonly slidingWindowIsOptional?: boolean;
}

const architectures: readonly Architecture[] = [
  { name: "LlamaForCausalLM", modelType: "llama", queryKeyValueBias: false, queryKeyNorm: false },
  { name: "MistralForCausalLM", modelType: "mistral", queryKeyValueBias: false, queryKeyNorm: false },
  {
    name: "Qwen2ForCausalLM",
    modelType: "qwen2",
    queryKeyValueBias: true,
    queryKeyNorm: false,
    slidingWindowIsOptional: true,
  },
  {
    name: "Qwen3ForCausalLM",
    modelType: "qwen3",
    queryKeyValueBias: false,
    queryKeyNorm: true,
    defaultHeadSize: 128,
    slidingWindowIsOptional: true,
  },
];

/** `file` is for messages. Unknown architectures and settings: `bad_model`. */
export function readModelShape(file: string, values: JsonObject): ModelShape {
  const config = new ConfigReader(file, values);
  const architecture = architectureOf(config);
  refuseUnknownArithmetic(config, architecture);
  const hiddenSize = config.count("hidden_size");
  const heads = config.count("num_attention_heads");
  const headSize = config.count("head_dim", architecture.defaultHeadSize ?? hiddenSize / heads);
  const keyValueHeads = config.count("num_key_value_heads", heads);
  if (headSize % 2 !== 0) config.refuse("head_dim", "an even number");
  if (heads % keyValueHeads !== 0)
    config.refuse("num_key_value_heads", `a divisor of num_attention_heads (${heads})`);
  return {
    vocabularySize: config.count("vocab_size"),
    hiddenSize,
    intermediateSize: config.count("intermediate_size"),
    layers: config.count("num_hidden_layers"),
    heads,
    keyValueHeads,
    headSize,
    maxLength: maxLengthOf(config, architecture),
    rmsEpsilon: config.positive("rms_norm_eps", 1e-6),
    queryKeyValueBias: architecture.queryKeyValueBias,
    queryKeyNorm: architecture.queryKeyNorm,
    tiedEmbeddings: config.flag("tie_word_embeddings"),
    inverseFrequencies: readInverseFrequencies(config, headSize),
  };
}

function architectureOf(config: ConfigReader): Architecture {
  const listed = config.value("architectures");
  const name: unknown = Array.isArray(listed) ? listed[0] : undefined;
  const type = config.value("model_type");
  const found = architectures.find((known) =>
    name === undefined ? known.modelType === type : known.name === name,
  );
  if (found !== undefined) return found;
  const setting = name === undefined ? "model_type" : "architectures";
  return config.refuse(setting, `one of ${architectures.map((known) => known.name).join(", ")}`);
}

function refuseUnknownArithmetic(config: ConfigReader, architecture: Architecture): void {
  config.only("hidden_act", "silu");
  // It puts a bias on o_proj too. Qwen2 and Mistral do not have the setting.
  if (["llama", "qwen3"].includes(architecture.modelType)) config.only("attention_bias", false);
  config.only("mlp_bias", false);
  config.only("partial_rotary_factor", 1);
  const quantized = config.value("quantization_config") !== undefined;
  if (quantized) config.refuse("quantization_config", "none; give the model's F32, BF16 or F16 weights");
}

/** Attention here is never windowed: a sequence is kept so short that the window would not have mattered. */
function maxLengthOf(config: ConfigReader, architecture: Architecture): number {
  const positions = config.count("max_position_embeddings");
  const layerTypes = config.value("layer_types");
  const mixed = Array.isArray(layerTypes) && layerTypes.includes("sliding_attention");
  const off = architecture.slidingWindowIsOptional === true && !config.flag("use_sliding_window") && !mixed;
  if (off || config.value("sliding_window") === undefined) return positions;
  return Math.min(positions, config.count("sliding_window"));
}
