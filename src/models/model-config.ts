/**
 * Reads config.json of the Hugging Face layout as the shape of a supported model. A setting that would change the
 * arithmetic in an unsupported way is rejected by name, never ignored.
 */
import { TroupeError } from "../errors.ts";
import { isObject, type JsonObject } from "../text/files.ts";
import {
  readAttentionLayers,
  usualAttention,
  type AttentionLayers,
  type AttentionRules,
} from "./attention-layers.ts";
import { ConfigReader } from "./config-reader.ts";
import { usualRope } from "./rope.ts";

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
  /** Norms multiply by it plus their weight. */
  readonly normOffset: number;
  /** Scores of attention are divided by its root. */
  readonly queryScalar: number;
  /** By which a token's embedding is multiplied at the input. */
  readonly embeddingScale: number;
  readonly activation: "silu" | "gelu_tanh";
  readonly queryKeyValueBias: boolean;
  readonly queryKeyNorm: boolean;
  /** Queries, keys and values are one projection, and so are gate and up. */
  readonly fusedProjections: boolean;
  /** What attention and the layer between add is normalised. */
  readonly normedOutputs: boolean;
  readonly tiedEmbeddings: boolean;
  /** A critic: one number per position instead of logits. */
  readonly valueHead: boolean;
  /** How many positions a token sees in each layer, its own included; 0: all. [layers] */
  readonly windows: Int32Array;
  /** By which of the rotations below each layer turns queries and keys; -1: by none. [layers] */
  readonly layerRopes: Int32Array;
  /** Of each rotation: rotary frequencies [dimensions that turn / 2], including scaling for long contexts. */
  readonly inverseFrequencies: readonly Float32Array[];
  /** Of each rotation: by which cosine and sine are multiplied. */
  readonly ropeFactors: Float32Array;
}

interface Architecture {
  /** Prefix of `ForCausalLM`, or of `ForTokenClassification` for a critic. */
  readonly family: string;
  readonly modelType: string;
  readonly queryKeyValueBias: boolean;
  readonly queryKeyNorm: boolean;
  readonly fusedProjections: boolean;
  /** Gemma's: norms multiply by 1 + weight and follow each part too, GeGLU, embeddings times √hidden_size. */
  readonly isGemma: boolean;
  readonly attention: AttentionRules;
  /** transformers' defaults if config.json has none. `headSize` absent: hidden_size / num_attention_heads. */
  readonly headSize?: number;
  readonly rmsEpsilon: number;
  readonly tiedEmbeddings: boolean;
}

const llama: Architecture = {
  family: "Llama",
  modelType: "llama",
  queryKeyValueBias: false,
  queryKeyNorm: false,
  fusedProjections: false,
  isGemma: false,
  attention: usualAttention,
  rmsEpsilon: 1e-6,
  tiedEmbeddings: false,
};
const qwen2: Architecture = {
  ...llama,
  family: "Qwen2",
  modelType: "qwen2",
  queryKeyValueBias: true,
  attention: {
    ...usualAttention,
    slides: "from max_window_layers",
    isListed: true,
    isSwitched: true,
    window: 4096,
  },
};

const architectures: readonly Architecture[] = [
  llama,
  {
    ...llama,
    family: "Mistral",
    modelType: "mistral",
    attention: { ...usualAttention, slides: "all", window: 4096 },
  },
  qwen2,
  {
    ...qwen2,
    family: "Qwen3",
    modelType: "qwen3",
    queryKeyValueBias: false,
    queryKeyNorm: true,
    headSize: 128,
  },
  {
    ...llama,
    family: "SmolLM3",
    modelType: "smollm3",
    attention: {
      slides: "without rope",
      isListed: true,
      isSwitched: true,
      skipsRope: true,
      rope: { ...usualRope, theta: 2_000_000 },
    },
    tiedEmbeddings: true,
  },
  {
    ...llama,
    family: "Phi3",
    modelType: "phi3",
    fusedProjections: true,
    attention: {
      ...usualAttention,
      slides: "all",
      rope: { theta: 10_000, scalings: ["none", "longrope"], partial: true },
    },
    rmsEpsilon: 1e-5,
  },
  {
    ...llama,
    family: "Gemma3",
    modelType: "gemma3_text",
    queryKeyNorm: true,
    isGemma: true,
    attention: {
      slides: "all but every sixth",
      isListed: true,
      isSwitched: false,
      window: 4096,
      skipsRope: false,
      rope: { ...usualRope, theta: 1_000_000 },
      slidingRope: usualRope,
    },
    headSize: 256,
    tiedEmbeddings: true,
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
  const { isGemma } = architecture;
  const hiddenSize = config.count("hidden_size");
  const heads = config.count("num_attention_heads");
  const usualSize = architecture.headSize ?? hiddenSize / heads;
  if (!Number.isSafeInteger(usualSize) && config.value("head_dim") === undefined)
    config.reject("num_attention_heads", `a divisor of hidden_size (${hiddenSize}), or head_dim as well`);
  const headSize = config.count("head_dim", usualSize, mostHeadSize);
  const keyValueHeads = config.count("num_key_value_heads", heads);
  if (headSize % 2 !== 0) config.reject("head_dim", "an even number");
  if (heads % keyValueHeads !== 0)
    config.reject("num_key_value_heads", `a divisor of num_attention_heads (${heads})`);
  const layers = config.count("num_hidden_layers", undefined, mostLayers);
  const attention = readAttentionLayers(config, layers, headSize, architecture.attention);
  return {
    vocabularySize: config.count("vocab_size"),
    hiddenSize,
    intermediateSize: config.count("intermediate_size"),
    layers,
    heads,
    keyValueHeads,
    headSize,
    rmsEpsilon: config.positive("rms_norm_eps", architecture.rmsEpsilon),
    normOffset: isGemma ? 1 : 0,
    queryScalar: isGemma ? config.positive("query_pre_attn_scalar", 256) : headSize,
    embeddingScale: isGemma ? Math.fround(Math.sqrt(hiddenSize)) : 1,
    activation: isGemma ? "gelu_tanh" : "silu",
    queryKeyValueBias: architecture.queryKeyValueBias,
    queryKeyNorm: architecture.queryKeyNorm,
    fusedProjections: architecture.fusedProjections,
    normedOutputs: isGemma,
    tiedEmbeddings: config.flag("tie_word_embeddings", architecture.tiedEmbeddings),
    valueHead,
    ...ofAttention(config, attention),
  };
}

function ofAttention(
  config: ConfigReader,
  { windows, layerRopes, ropes }: AttentionLayers,
): Pick<ModelShape, "maxLength" | "windows" | "layerRopes" | "inverseFrequencies" | "ropeFactors"> {
  const longest = ropes.map((rope) => rope.longest);
  return {
    maxLength: Math.min(config.count("max_position_embeddings"), ...longest),
    windows,
    layerRopes,
    inverseFrequencies: ropes.map(({ frequencies }) => frequencies),
    ropeFactors: Float32Array.from(ropes, ({ attentionFactor }) => attentionFactor),
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

function rejectUnknownArithmetic(config: ConfigReader, { modelType, isGemma }: Architecture): void {
  if (isGemma) config.only("hidden_activation", "gelu_pytorch_tanh");
  config.only("hidden_act", isGemma ? "gelu_pytorch_tanh" : "silu");
  // In Llama it also adds a bias to o_proj. Qwen2 and Mistral do not have the setting.
  if (!["qwen2", "mistral"].includes(modelType)) config.only("attention_bias", false);
  for (const name of ["mlp_bias", "lm_head_bias", "use_bidirectional_attention", "rope_interleaved"])
    config.only(name, false);
  if (!isGemma) config.only("query_pre_attn_scalar", undefined);
  for (const name of ["attn_logit_softcapping", "final_logit_softcapping"]) config.only(name, undefined);
  const quantized = config.value("quantization_config") !== undefined;
  if (quantized) config.reject("quantization_config", "none; use the model's F32, BF16 or F16 weights");
}

/** Weights may only be replaced by those of a model with the same arithmetic. @throws TroupeError `bad_model` */
export function checkSameShape(directory: string, found: ModelShape, expected: ModelShape): void {
  for (const key of Object.keys(expected) as (keyof ModelShape)[]) {
    if (String(found[key]) === String(expected[key])) continue;
    const difference = `${key} is ${String(found[key])}; expected ${String(expected[key])}, as in the policy's model`;
    throw new TroupeError("bad_model", `${directory} contains another model: ${difference}.`);
  }
}
