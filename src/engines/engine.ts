/**
 * What computes. An engine is a handful of verbs over policies: sample, forward, forwardBackward, optimStep, save, load.
 * Tokens in, tokens out; credit arrives as one advantage per token; a loss is a SUM over tokens. These are the verbs of
 * the Tinker protocol, so an engine in this process and one behind HTTP look the same from here.
 */

/** A policy is trainable weights: a whole model, or an adapter on one. The name is the recipe's. */
export type PolicyName = string;

export interface AdapterOptions {
  readonly rank: number;
  readonly alpha: number;
  /** Projections that get an adapter: q_proj k_proj v_proj o_proj gate_proj up_proj down_proj. */
  readonly targetModules: readonly string[];
  /** Seed of the A matrices; B starts at zero. */
  readonly seed: number;
}

export interface PolicyOptions {
  readonly name: PolicyName;
  /** A model directory in the Hugging Face layout. Adapters that name the same directory share one base in memory. */
  readonly model: string;
  /** Present: an adapter on the model. Absent: the whole model. */
  readonly adapter?: AdapterOptions;
}

export interface SamplingOptions {
  readonly maxTokens: number;
  /** 0 is greedy. */
  readonly temperature: number;
  /** 0 or absent: off. */
  readonly topK?: number;
  /** 1 or absent: off. */
  readonly topP?: number;
  /** Generation ends with one of these, which is kept as the last token. */
  readonly stopTokens?: readonly number[];
  /** Generation ends once its text contains one of these; the tokens are kept. */
  readonly stopStrings?: readonly string[];
}

export interface SampleRequest extends SamplingOptions {
  readonly policy: PolicyName;
  readonly prompt: Int32Array;
  /** Sequences from this one prompt, which is computed once. */
  readonly count: number;
  /** Token t of sequence i depends on (seed, i, t) alone, never on what runs beside it. A non-negative safe integer. */
  readonly seed: number;
}

export interface SampledSequence {
  readonly tokens: Int32Array;
  /** Log-probability of each token at temperature 1 without top-k or top-p, in nats. */
  readonly logprobs: Float32Array;
  /** `stop`: a stop token or string; `length`: maxTokens or the model's limit. */
  readonly stopReason: "stop" | "length";
}

/** One continuation of a shared prompt; all arrays have the length of `tokens`. */
export interface Continuation {
  readonly tokens: Int32Array;
  /** cross_entropy: weight of each token (absent: 1). */
  readonly weights?: Float32Array;
  /** importance_sampling, ppo. */
  readonly advantages?: Float32Array;
  /** importance_sampling, ppo: log-probabilities under the policy that sampled. */
  readonly logprobs?: Float32Array;
}

/** Continuations that share a prompt: it is computed once, forward and backward. */
export interface Datum {
  readonly policy: PolicyName;
  readonly prompt: Int32Array;
  readonly continuations: readonly Continuation[];
}

/** Sums over tokens. ρ = exp(logp − logprobs), A = advantages. */
export type Loss =
  | { readonly type: "cross_entropy" } // −Σ w·logp
  | { readonly type: "importance_sampling" } // −Σ ρ·A
  | { readonly type: "ppo"; readonly clipLow: number; readonly clipHigh: number }; // −Σ min(ρA, clip(ρ, 1−low, 1+high)·A)

export interface LossResult {
  /** The sum over tokens. */
  readonly loss: number;
  readonly tokens: number;
  /** Sum over tokens of the next-token distribution's entropy, in nats. */
  readonly entropy: number;
  /** Sum over tokens of ρ − 1 − ln ρ, an estimate of KL(sampled ‖ now); 0 for cross_entropy. */
  readonly kl: number;
  /** ppo: tokens whose gradient the clip removed. */
  readonly clipped: number;
  /** New log-probabilities, one array per continuation, in the order of the data. */
  readonly logprobs: readonly Float32Array[];
}

export interface AdamOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Largest Euclidean norm of the policy's gradient; 0 is no clipping. */
  readonly clipNorm: number;
}

export interface Cancellable {
  readonly signal?: AbortSignal;
}

/** What an engine can do; a recipe that asks for more is refused before anything is spent. */
export interface EngineCapabilities {
  readonly wholeModel: boolean;
  readonly adapters: boolean;
  readonly losses: readonly Loss["type"][];
  readonly topK: boolean;
  readonly stopStrings: boolean;
  /** Same seed, same bits. */
  readonly deterministic: boolean;
}

export interface Engine {
  readonly capabilities: EngineCapabilities;
  /** One line for people: processor, threads, precision. */
  readonly description: string;

  /** Makes a policy from a model directory. Refuses a name in use. */
  createPolicy(options: PolicyOptions): Promise<PolicyInfo>;
  removePolicy(policy: PolicyName): Promise<void>;

  sample(request: SampleRequest, options?: Cancellable): Promise<SampledSequence[]>;
  /** Log-probabilities of the continuations without gradients; losses and weights are not needed. */
  forward(data: readonly Datum[], options?: Cancellable): Promise<LossResult>;
  /** Adds to the gradients of every policy named in the data. */
  forwardBackward(data: readonly Datum[], loss: Loss, options?: Cancellable): Promise<LossResult>;
  /** AdamW on one policy; its gradient is zero afterwards. */
  optimStep(policy: PolicyName, adam: AdamOptions): Promise<{ gradientNorm: number }>;

  /** Writes a model directory (whole model, Hugging Face layout) or an adapter directory (PEFT layout), atomically. */
  save(policy: PolicyName, directory: string): Promise<void>;
  /** Replaces the policy's weights by those of a directory written by `save` (same shape). */
  load(policy: PolicyName, directory: string): Promise<void>;
  /** Optimizer moments and step count, so that training resumes bit for bit. One file. */
  saveOptimizer(policy: PolicyName, file: string): Promise<void>;
  loadOptimizer(policy: PolicyName, file: string): Promise<void>;

  /** Cancels what runs, frees what is held. */
  close(): Promise<void>;
}

export interface PolicyInfo {
  readonly name: PolicyName;
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Longest sequence in tokens, prompt included. */
  readonly maxLength: number;
  readonly vocabularySize: number;
}
