/**
 * Shapes of the models that included recipes name, from their config.json at the Hugging Face hub, so that a run can be
 * planned where they are not downloaded.
 */
import type { JsonObject } from "../text/files.ts";

const common = { head_dim: 128, vocab_size: 151_936, rms_norm_eps: 1e-6, rope_theta: 1e6 };
const qwen3 = {
  ...common,
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  num_key_value_heads: 8,
  max_position_embeddings: 40_960,
};
const qwen2 = {
  ...common,
  architectures: ["Qwen2ForCausalLM"],
  model_type: "qwen2",
  num_key_value_heads: 2,
};

/** By the name of the model's directory. */
export const publishedModels: Readonly<Record<string, JsonObject>> = {
  "Qwen3-0.6B": { ...qwen3, ...sizes(28, 1024, 3072, 16), tie_word_embeddings: true },
  "Qwen3-1.7B": { ...qwen3, ...sizes(28, 2048, 6144, 16), tie_word_embeddings: true },
  "Qwen3-4B": { ...qwen3, ...sizes(36, 2560, 9728, 32), tie_word_embeddings: true },
  "Qwen3-4B-Instruct-2507": {
    ...qwen3,
    ...sizes(36, 2560, 9728, 32),
    tie_word_embeddings: true,
    max_position_embeddings: 262_144,
  },
  "Qwen3-8B": { ...qwen3, ...sizes(36, 4096, 12_288, 32), tie_word_embeddings: false },
  "Qwen2.5-Coder-3B": {
    ...qwen2,
    ...sizes(36, 2048, 11_008, 16),
    tie_word_embeddings: true,
    max_position_embeddings: 32_768,
  },
  "DeepSeek-R1-Distill-Qwen-1.5B": {
    ...qwen2,
    ...sizes(28, 1536, 8960, 12),
    tie_word_embeddings: false,
    max_position_embeddings: 131_072,
  },
};

function sizes(layers: number, hidden: number, intermediate: number, heads: number): JsonObject {
  return {
    num_hidden_layers: layers,
    hidden_size: hidden,
    intermediate_size: intermediate,
    num_attention_heads: heads,
  };
}
