/**
 * The messages of the Tinker protocol: JSON by zod schemas, protobuf by tables of fields; types are inferred from both.
 * Source: the Apache-2.0 Python SDK `tinker` 0.38.0 (types and descriptors). Fields that other servers than Troupe's
 * lack are marked "Troupe".
 */
import { z } from "zod";
import { list, numbers, record } from "./bounded.ts";
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

/** The beginning of a request of a model. */
export const turn = message({ model_id: [1, text], seq_id: [2, integer] });

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
/** Matrices of int32 and float32, a row per token; where there are none, 0 and `noLogprob`. */
const topLogprobs = message({
  tokens: [1, data],
  logprobs: [2, data],
  top: [3, integer],
  length: [4, integer],
});
export const noLogprob = -99_999;
export const sampleResponse = message({
  sequences: [1, repeated(nested(sampledSequence))],
  /** float32; NaN where there is none. */
  promptLogprobs: [2, optional(data)],
  topPromptLogprobs: [3, optional(nested(topLogprobs))],
});

export const stopReasons = ["stop", "length"] as const;

// --- JSON: requests, whose lists and records are read by bounded.ts ---

export const lastSequenceNumber = 2 ** 31 - 1;
const sequenceNumber = z.int().min(0).max(lastSequenceNumber);
const name = z.string().min(1).max(512);
/** What a person notes about sessions, models and weights, which servers keep. */
const metadata = z
  .record(z.string(), z.unknown())
  .nullish()
  .refine(
    (given) => JSON.stringify(given ?? null).length <= 65_536,
    "metadata have at most 65,536 characters",
  );
export type Metadata = z.output<typeof metadata>;
/** From an hour to ten years. */
const lifetime = z.number().min(3600).max(315_360_000).nullish();

/** The name of the request, which clients repeat in its body. */
const type = z.string().optional();

export const empty = z.object({});
export const ofSdk = z.object({ sdk_version: z.string() });
export const createSession = z.object({
  session_id: name.optional(),
  user_metadata: metadata,
  tags: list(z.string()).nullish(),
  display_name: z.string().max(1024).nullish(),
  sdk_version: z.string().nullish(),
  type,
});
export const ofSession = z.object({ session_id: name, type });
export const ofModel = z.object({ model_id: name, type });

/** What gives a request of a model its place, whatever else is in it. */
export const ofTurn = z.object({ model_id: name, seq_id: z.int().min(1).max(lastSequenceNumber) });
export const mayBeOfModel = z.object({ model_id: name.nullish() });

export const loraConfig = z.object({
  rank: z.int().min(1).max(1024),
  seed: z.int().min(0).nullish(),
  train_unembed: z.boolean().default(true),
  train_mlp: z.boolean().default(true),
  train_attn: z.boolean().default(true),
  /** Troupe. */
  alpha: z.number().positive().optional(),
  /** Troupe. */
  target_modules: list(z.string().max(64), 64).optional(),
  /** open-rl. */
  lora_alpha: z.number().optional(),
  /** open-rl: 0.05 if it is not said. */
  lora_dropout: z.number().optional(),
});

export const createModel = z.object({
  type,
  session_id: name,
  model_seq_id: sequenceNumber,
  base_model: z.string().max(4096),
  user_metadata: metadata,
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
  type,
  model_id: name,
  seq_id: sequenceNumber,
  adam_params: adamParams.optional(),
  optimizer_params: z.object({ type: z.string() }).optional(),
});

export const saveWeights = z.object({
  type,
  model_id: name,
  seq_id: sequenceNumber,
  path: name.nullish(),
  overwrite: z.boolean().default(false),
  /** open-rl: with the optimizer's state, which others always save. */
  include_optimizer: z.boolean().optional(),
  ttl_seconds: lifetime,
  user_metadata: metadata,
});

export const saveWeightsForSampler = z.object({
  type,
  model_id: name,
  seq_id: sequenceNumber,
  path: name.nullish(),
  sampling_session_seq_id: sequenceNumber.nullish(),
  /** `inflight`: the sampler follows the model's weights. */
  kind: z.enum(["snapshot", "inflight"]).default("snapshot"),
  ttl_seconds: lifetime,
  user_metadata: metadata,
});

/** Of a model that exists (model_id, seq_id), or of one that it creates (session_id, model_seq_id). */
export const loadWeights = z.object({
  type,
  model_id: name.nullish(),
  seq_id: sequenceNumber.nullish(),
  session_id: name.nullish(),
  model_seq_id: sequenceNumber.nullish(),
  path: name,
  optimizer: z.boolean(),
  user_metadata: metadata,
  /** Troupe, of a model that it creates. */
  model_role: z.enum(["policy", "critic"]).default("policy"),
  /** Troupe: the model that it creates is an adapter on these weights. */
  lora_config: loraConfig.nullish(),
  /** Troupe: weights that the model it creates starts from instead, on these as its base. */
  initial_weights: name.optional(),
});

export const createSamplingSession = z.object({
  type,
  session_id: name,
  sampling_session_seq_id: sequenceNumber,
  base_model: z.string().max(4096).nullish(),
  model_path: name.nullish(),
});

export const ofSamplingSession = z.object({ sampling_session_id: name });

const samplingParams = z.object({
  max_tokens: z.int().nullish(),
  seed: z.number().nullish(),
  stop: z.union([z.string(), list(z.string()), numbers]).nullish(),
  /** Troupe: besides texts in `stop`. */
  stop_tokens: numbers.optional(),
  temperature: z.number().default(1),
  top_k: z.int().default(-1),
  top_p: z.number().default(1),
});

export const modelInput = z.object({
  chunks: list(z.object({ type: z.string(), tokens: numbers.optional() })),
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
  topk_prompt_logprobs: z.int().min(0).max(1024).default(0),
  topk_sample_logprobs: z.int().default(0),
  target_prompt_logprobs: z.unknown().optional(),
  prompt_alt_tokens_k: z.int().default(0),
  prompt_logprobs_last_n: z.int().nullish(),
});

const jsonTensor = z.object({
  data: numbers,
  dtype: z.enum(["float32", "int64"]),
  shape: list(z.int()).nullish(),
  sparse_crow_indices: numbers.nullish(),
});

const lossInput = z.object({
  loss_fn: z.string(),
  loss_fn_config: record(z.union([z.number(), z.string()])).nullish(),
  data: list(z.object({ model_input: modelInput, loss_fn_inputs: record(jsonTensor) })),
});
const lossCall = z.object({ model_id: name, seq_id: sequenceNumber });
export const forwardBackwardJson = lossCall.extend({ forward_backward_input: lossInput });
/** The same input under another key. */
export const forwardJson = lossCall.extend({ forward_input: lossInput });

export const cancelFuture = z.object({ request_id: name });

export const retrieveFuture = z.object({ request_id: name, allow_metadata_only: z.boolean().default(false) });

export const retrieveFutures = z.object({
  target: z.object({ type, sampling_session_id: name, cloned_sampler_id: z.int().default(0) }),
  prev_cursor: z.int().min(0).default(0),
  timeout: z.number().nullish(),
  retrieved_request_ids: list(name).default([]),
});

export const weightsInfo = z.object({ tinker_path: name });

export const lifetimeOf = z.object({ ttl_seconds: lifetime });

// --- JSON: answers ---

/** Of another server, which sets its own limits. */
const identifier = z.string().min(1);

export const submitted = z.object({ request_id: identifier, model_id: identifier.optional() });

export const clientConfig = z.object({
  fwdbwd_max_chunk_len: z.int().positive().optional(),
  fwdbwd_max_chunk_bytes_count: z.int().positive().optional(),
  sample_use_retrieve_futures: z.boolean().default(false),
  sample_join_sampling_session: z.boolean().default(false),
  pjwt_auth_enabled: z.boolean().default(false),
  proto_compress_fwdbwd: z.boolean().default(false),
});
export const dynamicConfig = z.object({
  refresh_interval_sec: z.number(),
  sample_cancel_enabled: z.boolean(),
});
export const token = z.object({ jwt: z.string() });
export const sessionCreated = z.object({ session_id: identifier, type });
export const heartbeat = z.object({ type });
export const modelCreated = z.object({ model_id: identifier, type });
export const samplingSessionCreated = z.object({ sampling_session_id: identifier, type });
export const joined = z.object({ client_counter: z.int(), type });

/** Of weights with the optimizer's state. */
export const saved = z.object({ path: identifier, type });
/** A name for weights that were saved under one, a sampling session for others. */
export const savedForSampler = z.object({
  path: identifier.nullish(),
  sampling_session_id: identifier.nullish(),
  type,
});
/** `model_id`: of a model that was made of them. */
export const loaded = z.object({ path: identifier.nullish(), model_id: identifier.nullish(), type });
export const stepped = z.object({ metrics: z.record(z.string(), z.number()).nullish() });

export const forwardBackwardResult = z.object({
  loss_fn_output_type: z.string().optional(),
  loss_fn_outputs: z.array(
    z.record(
      z.string(),
      z.object({
        data: z.array(z.number()),
        dtype: z.string().optional(),
        shape: z.array(z.int()).nullish(),
      }),
    ),
  ),
  metrics: z.record(z.string(), z.number()).default({}),
});

export const sampled = z.object({
  type,
  sequences: z.array(
    z.object({
      stop_reason: z.enum(stopReasons),
      tokens: z.array(z.int32()),
      logprobs: z.array(z.number()).nullable(),
    }),
  ),
  prompt_logprobs: z.array(z.number().nullable()).nullish(),
  topk_prompt_logprobs: z.array(z.array(z.tuple([z.int32(), z.number()])).nullable()).nullish(),
});
/** Of a sample. */
const sampleSubmitted = submitted.extend({ sample_sequence_ids: z.array(z.string()).optional() });

/** Requests that are finished, since the cursor given. */
export const completions = z.object({
  completions: z.array(
    z.object({
      request_id: identifier,
      state: z.string().optional(),
      response_payload_uncompressed_size: z.int().nullish(),
    }),
  ),
  cursor: z.int(),
});

const checkpoint = z.object({
  checkpoint_id: z.string().optional(),
  checkpoint_type: z.string(),
  time: z.string(),
  tinker_path: identifier,
  size_bytes: z.int().nullish(),
  public: z.boolean().optional(),
  user_metadata: metadata,
  expires_at: z.string().nullish(),
});
const page = z.object({ offset: z.int(), limit: z.int(), total_count: z.int() });
export const checkpoints = z.object({ checkpoints: z.array(checkpoint), cursor: page.nullish() });
export const trainingRun = z.object({
  training_run_id: identifier,
  base_model: z.string(),
  model_owner: z.string(),
  is_lora: z.boolean(),
  lora_rank: z.int().nullish(),
  last_request_time: z.string(),
  last_checkpoint: checkpoint.nullish(),
  last_sampler_checkpoint: checkpoint.nullish(),
  user_metadata: metadata,
});
export const trainingRuns = z.object({ training_runs: z.array(trainingRun), cursor: page });
export const sessions = z.object({ sessions: z.array(identifier) });
export const sessionInfo = z.object({
  training_run_ids: z.array(identifier),
  sampler_ids: z.array(identifier),
  user_metadata: metadata,
  display_name: z.string().nullish(),
});
const weightsDescribed = z.object({
  base_model: z.string(),
  is_lora: z.boolean(),
  lora_rank: z.int().nullish(),
});
export const samplerInfo = z.object({
  sampler_id: identifier,
  base_model: z.string(),
  model_path: identifier.nullish(),
});

/** Instead of a result that is not there yet, with status 408 or 200. */
export const tryAgain = z.object({
  type: z.literal("try_again"),
  request_id: identifier.optional(),
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
    z.object({
      model_name: z.string().nullish(),
      max_context_length: z.int().nullish(),
      trainable: z.boolean().optional(),
      sampleable: z.boolean().optional(),
    }),
  ),
  /** Troupe. */
  description: z.string().optional(),
  /** Troupe: of one owner. */
  limits: z.object({ models: z.int().optional(), requests: z.int().optional() }).nullish(),
});

export const modelInfo = z.object({
  model_id: identifier,
  type,
  model_name: z.string().nullish(),
  model_data: z.object({
    arch: z.string().nullish(),
    model_name: z.string().nullish(),
    tokenizer_id: z.string().nullish(),
  }),
  is_lora: z.boolean().nullish(),
  lora_rank: z.int().nullish(),
  /** Troupe: SHA-256 of every token's bytes (text/tokenizer.ts). */
  tokenizer: z.object({ vocabulary_size: z.int().positive(), digest: z.string() }).nullish(),
  /** Troupe. */
  sizes: z
    .object({
      parameters: z.int().min(0),
      trainable_parameters: z.int().min(0),
      max_length: z.int().positive(),
      vocabulary_size: z.int().positive(),
    })
    .nullish(),
});
export type ModelInfo = z.output<typeof modelInfo>;

// --- Bodies by request ---

/** What is posted in JSON: its schema as the server reads it. */
interface Posted {
  "auth/token": typeof empty;
  "client/config": typeof ofSdk;
  create_session: typeof createSession;
  session_heartbeat: typeof ofSession;
  create_model: typeof createModel;
  get_info: typeof ofModel;
  unload_model: typeof ofModel;
  forward_backward: typeof forwardBackwardJson;
  forward: typeof forwardJson;
  optim_step: typeof optimStep;
  save_weights: typeof saveWeights;
  save_weights_for_sampler: typeof saveWeightsForSampler;
  load_weights: typeof loadWeights;
  create_sampling_session: typeof createSamplingSession;
  asample: typeof sample;
  cancel_future: typeof cancelFuture;
  retrieve_future: typeof retrieveFuture;
  retrieve_futures: typeof retrieveFutures;
}

/** What a client writes. */
export type Bodies = { readonly [Path in keyof Posted]: z.input<Posted[Path]> };

/** A request with its body. */
export function request<Path extends keyof Bodies>(path: Path, body: Bodies[Path]) {
  return { path, body };
}

/** What is answered at once, without those of `retrieve_future`. */
interface Answered {
  "client/config": typeof clientConfig;
  "client/dynamic_config": typeof dynamicConfig;
  create_session: typeof sessionCreated;
  session_heartbeat: typeof heartbeat;
  create_model: typeof submitted;
  get_info: typeof modelInfo;
  unload_model: typeof submitted;
  forward_backward: typeof submitted;
  forward: typeof submitted;
  optim_step: typeof submitted;
  save_weights: typeof submitted;
  save_weights_for_sampler: typeof submitted;
  load_weights: typeof submitted;
  create_sampling_session: typeof samplingSessionCreated;
  join_sampling_session: typeof joined;
  asample: typeof sampleSubmitted;
  cancel_future: typeof empty;
  retrieve_futures: typeof completions;
  weights_info: typeof weightsDescribed;
  get_server_capabilities: typeof capabilities;
  checkpoints: typeof checkpoints;
  training_runs: typeof trainingRuns;
  training_run: typeof trainingRun;
  sessions: typeof sessions;
  session: typeof sessionInfo;
  samplers: typeof samplerInfo;
}

/** What a server writes. */
export type Answers = { readonly [Path in keyof Answered]: z.input<Answered[Path]> };

/** What it writes as a future's result. */
export type FutureResult =
  | z.input<typeof modelCreated>
  | z.input<typeof stepped>
  | z.input<typeof saved>
  | z.input<typeof savedForSampler>
  | z.input<typeof loaded>
  | z.input<typeof failed>;
