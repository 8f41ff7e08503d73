/**
 * Reads config.json of the Hugging Face layout as the shape of a supported model. A setting that would change the
 * arithmetic in an unsupported way is rejected by name, never ignored.
 */
import { TroupeError } from "../errors.ts";
import { isObject, type JsonObject } from "../text/files.ts";
import { ConfigReader } from "./config-reader.ts";
import { readRope } from "./rope.ts";

/** Everything that the arithmetic depends on. */
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
  /** A critic: one number per position instead of logits. */
  readonly valueHead: boolean;
  /** Rotary frequencies, [headSize / 2], including scaling for long contexts. */
  readonly inverseFrequencies: Float32Array;
}

interface Architecture {
  /** Prefix of `ForCausalLM`, or of `ForTokenClassification` for a critic. */
  readonly family: string;
  readonly modelType: string;
  readonly queryKeyValueBias: boolean;
  readonly queryKeyNorm: boolean;
  /** transformers' default if config.json has none; absent: hidden_size / num_attention_heads. */
  readonly defaultHeadSize?: number;
  /** Whether sliding_window applies only with use_sliding_window: true. */
  readonly slidingWindowIsOptional?: boolean;
}

const architectures: readonly Architecture[] = [
  { family: "Llama", modelType: "llama", queryKeyValueBias: false, queryKeyNorm: false },
  { family: "Mistral", modelType: "mistral", queryKeyValueBias: false, queryKeyNorm: false },
  {
    family: "Qwen2",
    modelType: "qwen2",
    queryKeyValueBias: true,
    queryKeyNorm: false,
    slidingWindowIsOptional: true,
  },
  {
    family: "Qwen3",
    modelType: "qwen3",
    queryKeyValueBias: false,
    queryKeyNorm: true,
    defaultHeadSize: 128,
    slidingWindowIsOptional: true,
  },
];

/** Above that of any model: names, shapes and frequencies are listed before the weights are read. */
const mostLayers = 4096;
const mostHeadSize = 4096;

const languageModel = "ForCausalLM";
const tokenClassifier = "ForTokenClassification";

/** @param file for messages. @throws TroupeError `bad_model` for unknown architectures and settings */
export function readModelShape(file: string, values: JsonObject): ModelShape {
  const config = new ConfigReader(file, values);
  const { architecture, valueHead } = architectureOf(config);
  if (valueHead) requireOneLabel(config);
  rejectUnknownArithmetic(config, architecture);
  const hiddenSize = config.count("hidden_size");
  const heads = config.count("num_attention_heads");
  const headSize = config.count("head_dim", architecture.defaultHeadSize ?? hiddenSize / heads, mostHeadSize);
  const keyValueHeads = config.count("num_key_value_heads", heads);
  if (headSize % 2 !== 0) config.reject("head_dim", "an even number");
  if (heads % keyValueHeads !== 0)
    config.reject("num_key_value_heads", `a divisor of num_attention_heads (${heads})`);
  return {
    vocabularySize: config.count("vocab_size"),
    hiddenSize,
    intermediateSize: config.count("intermediate_size"),
    layers: config.count("num_hidden_layers", undefined, mostLayers),
    heads,
    keyValueHeads,
    headSize,
    maxLength: maxLengthOf(config, architecture),
    rmsEpsilon: config.positive("rms_norm_eps", 1e-6),
    queryKeyValueBias: architecture.queryKeyValueBias,
    queryKeyNorm: architecture.queryKeyNorm,
    tiedEmbeddings: config.flag("tie_word_embeddings"),
    valueHead,
    inverseFrequencies: readRope(config, headSize).frequencies,
  };
}

/** The settings of a critic on the trunk described by `config`, in transformers' names for a token classifier. */
export function criticConfig(config: JsonObject): JsonObject {
  const { architecture } = architectureOf(new ConfigReader("config.json", config));
  return {
    ...config,
    architectures: [`${architecture.family}${tokenClassifier}`],
    id2label: { "0": "value" },
    label2id: { value: 0 },
    classifier_dropout: 0,
  };
}

function architectureOf(config: ConfigReader): { architecture: Architecture; valueHead: boolean } {
  const listed = config.value("architectures");
  const name: unknown = Array.isArray(listed) ? listed[0] : undefined;
  const type = config.value("model_type");
  for (const architecture of architectures) {
    const { family, modelType } = architecture;
    if (name === undefined ? modelType === type : name === family + languageModel)
      return { architecture, valueHead: false };
    if (name === family + tokenClassifier) return { architecture, valueHead: true };
  }
  const setting = name === undefined ? "model_type" : "architectures";
  const known = architectures.map(({ family }) => family + languageModel).join(", ");
  return config.reject(setting, `one of ${known}, or a critic's (…${tokenClassifier})`);
}

/** A token classifier with one label gives one number per position: a value. */
function requireOneLabel(config: ConfigReader): void {
  const labels = config.value("id2label");
  if (!isObject(labels) || Object.keys(labels).length !== 1)
    config.reject("id2label", "one label, as for a critic");
}

function rejectUnknownArithmetic(config: ConfigReader, architecture: Architecture): void {
  config.only("hidden_act", "silu");
  // In Llama it also adds a bias to o_proj. Qwen2 and Mistral do not have the setting.
  if (["llama", "qwen3"].includes(architecture.modelType)) config.only("attention_bias", false);
  config.only("mlp_bias", false);
  config.only("partial_rotary_factor", 1);
  const quantized = config.value("quantization_config") !== undefined;
  if (quantized) config.reject("quantization_config", "none; use the model's F32, BF16 or F16 weights");
}

/** Attention is never windowed here: sequences are limited to a length at which the window has no effect. */
function maxLengthOf(config: ConfigReader, architecture: Architecture): number {
  const positions = config.count("max_position_embeddings");
  const layerTypes = config.value("layer_types");
  const mixed = Array.isArray(layerTypes) && layerTypes.includes("sliding_attention");
  const off = architecture.slidingWindowIsOptional === true && !config.flag("use_sliding_window") && !mixed;
  if (off || config.value("sliding_window") === undefined) return positions;
  return Math.min(positions, config.count("sliding_window"));
}

/** Weights may only be replaced by those of a model with the same arithmetic. @throws TroupeError `bad_model` */
export function checkSameShape(directory: string, found: ModelShape, expected: ModelShape): void {
  for (const key of Object.keys(expected) as (keyof ModelShape)[]) {
    if (String(found[key]) === String(expected[key])) continue;
    const difference = `${key} is ${String(found[key])}; expected ${String(expected[key])}, as in the policy's model`;
    throw new TroupeError("bad_model", `${directory} contains another model: ${difference}.`);
  }
}
