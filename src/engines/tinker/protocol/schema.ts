/**
 * The messages of the Tinker protocol: JSON by zod schemas, protobuf by tables of fields; types are inferred from both.
 * Source: the Apache-2.0 Python SDK `tinker` 0.38.0 (types and descriptors). Fields that other servers than Troupe's
 * lack are marked "Troupe".
 */
import { z } from "zod";
import {
  data,
  flag,
  integer,
  integers,
  mapOf,
  message,
  nested,
  number,
  optional,
  repeated,
  text,
} from "./message.ts";

// --- Protobuf ---

export const dataType = { float32: 1, int64: 2, int32: 3, bfloat16: 4 } as const;

const encodedText = message({ tokens: [1, data] });
const chunk = message({ encodedText: [1, optional(nested(encodedText))] });
const tensor = message({
  dense: [1, optional(data)],
  sparse: [2, optional(data)],
  dtype: [3, integer],
  shape: [4, integers],
});
const datum = message({
  modelInput: [1, repeated(nested(chunk))],
  lossInputs: [2, mapOf(nested(tensor))],
});
const configValue = message({ number: [1, optional(number)], text: [2, optional(text)] });

/** Also of `forward`, with `forwardOnly`. */
export const forwardBackwardRequest = message({
  modelId: [1, text],
  seqId: [2, integer],
  data: [3, repeated(nested(datum))],
  loss: [4, text],
  /** Of SDKs before 0.26. */
  lossConfig: [5, mapOf(number)],
  forwardOnly: [6, flag],
  lossConfigValues: [7, mapOf(nested(configValue))],
});

const batchedTensor = message({
  data: [1, data],
  /** int64 byte offsets, one more than there are data. */
  offsets: [2, data],
  dtype: [3, integer],
  trailingShape: [4, integers],
});
const arrayRecord = message({
  tag: [1, text],
  fields: [2, mapOf(nested(batchedTensor))],
  count: [3, integer],
});
export const forwardBackwardOutput = message({
  type: [1, text],
  outputs: [2, repeated(nested(arrayRecord))],
  metrics: [3, mapOf(number)],
});

const sampledSequence = message({
  stopReason: [1, integer],
  tokens: [2, data],
  logprobs: [3, optional(data)],
});
export const sampleResponse = message({
  sequences: [1, repeated(nested(sampledSequence))],
  /** float32; NaN where there is none. */
  promptLogprobs: [2, optional(data)],
});

export const stopReasons = ["stop", "length"] as const;

// --- JSON: requests ---

const sequenceNumber = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const name = z.string().min(1).max(512);
const metadata = z.record(z.string(), z.unknown()).nullish();

export const createSession = z.object({ session_id: name.optional(), user_metadata: metadata });
export const ofSession = z.object({ session_id: name });
export const ofModel = z.object({ model_id: name });

export const loraConfig = z.object({
  rank: z.int().min(1).max(1024),
  seed: z.int().min(0).nullish(),
  train_unembed: z.boolean().default(true),
  train_mlp: z.boolean().default(true),
  train_attn: z.boolean().default(true),
  /** Troupe. */
  alpha: z.number().positive().optional(),
  /** Troupe. */
  target_modules: z.array(z.string().max(64)).max(64).optional(),
});

export const createModel = z.object({
  session_id: name,
  model_seq_id: sequenceNumber,
  base_model: z.string().max(4096),
  /** Absent: the whole model is trained. */
  lora_config: loraConfig.nullish(),
  optimizer_config: z.object({ type: z.string() }).nullish(),
  /** SkyRL, Troupe. */
  model_role: z.enum(["policy", "critic"]).default("policy"),
  /** Troupe: weights to start from instead. */
  initial_weights: name.optional(),
});

export const adamParams = z.object({
  learning_rate: z.number().default(1e-4),
  beta1: z.number().default(0.9),
  beta2: z.number().default(0.95),
  eps: z.number().default(1e-12),
  weight_decay: z.number().default(0),
  grad_clip_norm: z.number().default(0),
});

export const optimStep = z.object({
  model_id: name,
  seq_id: sequenceNumber,
  adam_params: adamParams.optional(),
  optimizer_params: z.object({ type: z.string() }).optional(),
});

export const saveWeights = z.object({
  model_id: name,
  seq_id: sequenceNumber,
  path: name.nullish(),
  overwrite: z.boolean().default(false),
});

export const saveWeightsForSampler = z.object({
  model_id: name,
  seq_id: sequenceNumber,
  path: name.nullish(),
  sampling_session_seq_id: sequenceNumber.nullish(),
  /** `inflight`: the sampler follows the model's weights. */
  kind: z.enum(["snapshot", "inflight"]).default("snapshot"),
});

/** Of a model that exists (model_id, seq_id), or of one that it creates (session_id, model_seq_id). */
export const loadWeights = z.object({
  model_id: name.nullish(),
  seq_id: sequenceNumber.nullish(),
  session_id: name.nullish(),
  model_seq_id: sequenceNumber.nullish(),
  path: name,
  optimizer: z.boolean(),
  /** Troupe, of a model that it creates. */
  model_role: z.enum(["policy", "critic"]).default("policy"),
});

export const createSamplingSession = z.object({
  session_id: name,
  sampling_session_seq_id: sequenceNumber,
  base_model: z.string().max(4096).nullish(),
  model_path: name.nullish(),
});

export const ofSamplingSession = z.object({ sampling_session_id: name });

const samplingParams = z.object({
  max_tokens: z.int().nullish(),
  seed: z.number().nullish(),
  stop: z.union([z.string(), z.array(z.string()), z.array(z.number())]).nullish(),
  /** Troupe: besides texts in `stop`. */
  stop_tokens: z.array(z.number()).optional(),
  temperature: z.number().default(1),
  top_k: z.int().default(-1),
  top_p: z.number().default(1),
});

export const modelInput = z.object({
  chunks: z.array(z.object({ type: z.string(), tokens: z.array(z.number()).optional() })),
});

export const sample = z.object({
  sampling_session_id: name.nullish(),
  seq_id: z.int().min(0).nullish(),
  base_model: z.string().nullish(),
  model_path: name.nullish(),
  // Names for all of them are in the answer at once.
  num_samples: z
    .int()
    .max(2 ** 16)
    .default(1),
  prompt: modelInput,
  sampling_params: samplingParams,
  prompt_logprobs: z.boolean().nullish(),
  topk_prompt_logprobs: z.int().default(0),
  topk_sample_logprobs: z.int().default(0),
  target_prompt_logprobs: z.unknown().optional(),
  prompt_alt_tokens_k: z.int().default(0),
  prompt_logprobs_last_n: z.int().nullish(),
});

const jsonTensor = z.object({
  data: z.array(z.number()),
  dtype: z.enum(["float32", "int64"]),
  shape: z.array(z.int()).nullish(),
  sparse_crow_indices: z.array(z.int()).nullish(),
});

const lossInput = z.object({
  loss_fn: z.string(),
  loss_fn_config: z.record(z.string(), z.union([z.number(), z.string()])).nullish(),
  data: z.array(z.object({ model_input: modelInput, loss_fn_inputs: z.record(z.string(), jsonTensor) })),
});
const lossCall = z.object({ model_id: name, seq_id: sequenceNumber });
export const forwardBackwardJson = lossCall.extend({ forward_backward_input: lossInput });
/** The same input under another key. */
export const forwardJson = lossCall.extend({ forward_input: lossInput });

export const retrieveFuture = z.object({ request_id: name, allow_metadata_only: z.boolean().default(false) });

export const retrieveFutures = z.object({
  target: z.object({ sampling_session_id: name, cloned_sampler_id: z.int().default(0) }),
  prev_cursor: z.int().min(0).default(0),
  timeout: z.number().nullish(),
  retrieved_request_ids: z.array(name).default([]),
});

export const weightsInfo = z.object({ tinker_path: name });

// --- JSON: answers that a client reads ---

export const submitted = z.object({ request_id: name });

/** Instead of a result that is not there yet, with status 408 or 200. */
export const tryAgain = z.object({
  type: z.literal("try_again"),
  request_id: name.optional(),
  /** `active`, `paused_capacity`, `paused_rate_limit`. */
  queue_state: z.string().nullish(),
  queue_state_reason: z.string().nullish(),
});

export const failed = z.object({
  error: z.string(),
  category: z.string().default("unknown"),
  /** Troupe. */
  code: z.string().optional(),
});

export const capabilities = z.object({
  supported_models: z.array(
    z.object({ model_name: z.string().nullish(), max_context_length: z.int().nullish() }),
  ),
  /** Troupe. */
  description: z.string().optional(),
  /** Troupe: of one owner. */
  limits: z.object({ models: z.int().optional(), requests: z.int().optional() }).nullish(),
});

export const modelInfo = z.object({
  model_id: name,
  model_data: z.object({ model_name: z.string().nullish(), tokenizer_id: z.string().nullish() }),
  is_lora: z.boolean().nullish(),
  lora_rank: z.int().nullish(),
  /** Troupe: SHA-256 of every token's bytes (text/digest.ts). */
  tokenizer: z.object({ vocabulary_size: z.int(), digest: z.string() }).nullish(),
  /** Troupe. */
  sizes: z
    .object({
      parameters: z.int(),
      trainable_parameters: z.int(),
      max_length: z.int(),
      vocabulary_size: z.int(),
    })
    .nullish(),
});
export type ModelInfo = z.output<typeof modelInfo>;
