/**
 * What computes. An engine is a handful of verbs over policies: sample, forward, forwardBackward, optimStep, save, load.
 * Tokens in, tokens out; credit arrives as one advantage per token; a loss is a SUM over tokens. These are the verbs of
 * the Tinker protocol, so an engine in this process and one behind HTTP look the same from here.
 */
import type { AdapterOptions } from "../models/adapter-options.ts";

/** A policy is trainable weights: a whole model, or an adapter on one. The name is the recipe's. */
export type PolicyName = string;

export interface PolicyOptions {
  readonly name: PolicyName;
  /**
   * A model directory in the Hugging Face layout, or an adapter's in the PEFT layout, whose weights the policy then begins
   * with, on the base that it names. Adapters on the same directory share one base in memory.
   */
  readonly model: string;
  /** Present: an adapter on the model; of an adapter's directory the same settings. Absent: what the directory holds. */
  readonly adapter?: AdapterOptions;
  /**
   * A critic: the model's trunk under a head that gives one number per position instead of the vocabulary's scores. The
   * head starts at zero. A critic gives values and learns from the loss `value`; it cannot be sampled.
   */
  readonly valueHead?: boolean;
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
  /** cross_entropy, value: weight of each token (absent: 1). */
  readonly weights?: Float32Array;
  /** importance_sampling, ppo. */
  readonly advantages?: Float32Array;
  /** importance_sampling, ppo: log-probabilities under the policy that sampled. */
  readonly logprobs?: Float32Array;
  /** importance_sampling, ppo: log-probabilities under a reference policy, for a loss with `kl`. */
  readonly reference?: Float32Array;
  /** importance_sampling, ppo: coefficient of the divergence from the reference, for a loss with `kl`. */
  readonly penalties?: Float32Array;
  /** value: what the value of each token should be. */
  readonly targets?: Float32Array;
  /** value with `clip`: the values the critic gave when the tokens were sampled. */
  readonly values?: Float32Array;
}

/** Continuations that share a prompt: it is computed once, forward and backward. */
export interface Datum {
  readonly policy: PolicyName;
  readonly prompt: Int32Array;
  readonly continuations: readonly Continuation[];
}

/**
 * How the divergence from a reference is estimated from one sampled token, with d = logp − reference
 * (joschu.net/blog/kl-approx.html): k1 = d, k2 = d²/2, k3 = e^−d − 1 + d. In k3, d is held to ±10, beyond which its
 * gradient is zero, so that one token cannot outweigh a batch.
 */
export type KlEstimator = "k1" | "k2" | "k3";

/** Adds Σ penalties·k to a loss; the gradient is that of k itself. Every continuation then has a reference and penalties. */
export interface KlTerm {
  readonly kl?: KlEstimator;
}

/** −Σ w·logp */
export interface CrossEntropyLoss {
  readonly type: "cross_entropy";
}

/** −Σ ρ·A */
export interface ImportanceSamplingLoss extends KlTerm {
  readonly type: "importance_sampling";
}

/** −Σ min(ρA, clip(ρ, 1−low, 1+high)·A) */
export interface PpoLoss extends KlTerm {
  readonly type: "ppo";
  readonly clipLow: number;
  readonly clipHigh: number;
  /** c > 1: where A < 0 the term is at least c·A (arXiv:1912.09729, eq. 5). Absent: off. */
  readonly dualClip?: number;
  /**
   * `sequence`: ρ of every token is that of its continuation, exp(mean(logp − logprobs)) (GSPO, arXiv:2507.18071, eq. 7).
   * Absent: `token`.
   */
  readonly ratio?: "token" | "sequence";
}

/** ½·Σ w·max((v − target)², (clip(v, old ± clip) − target)²); a critic's. */
export interface ValueLoss {
  readonly type: "value";
  /** Absent: the squared error alone. */
  readonly clip?: number;
}

/** Sums over tokens. ρ = exp(logp − logprobs), A = advantages. */
export type Loss = CrossEntropyLoss | ImportanceSamplingLoss | PpoLoss | ValueLoss;

export interface LossResult {
  /** The sum over tokens. */
  readonly loss: number;
  readonly tokens: number;
  /** Sum over tokens of the next-token distribution's entropy, in nats. */
  readonly entropy: number;
  /** Sum over tokens of ρ − 1 − ln ρ, an estimate of KL(sampled ‖ now); 0 for cross_entropy. */
  readonly kl: number;
  /** Sum over tokens of k3 (see KlEstimator): KL(now ‖ reference); absent where no continuation has a reference. */
  readonly referenceKl?: number;
  /** ppo, value: tokens whose gradient the clip removed. */
  readonly clipped: number;
  /** New log-probabilities, one array per continuation, in the order of the data; empty arrays of a critic. */
  readonly logprobs: readonly Float32Array[];
  /**
   * A critic's values, one array per continuation, in the order of the data, absent where no policy is a critic. Value t
   * is that before token t: of the position before it, the prompt's last one for t = 0.
   */
  readonly values?: readonly Float32Array[];
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
  /** Policies with a value head, and the loss `value`. */
  readonly critic: boolean;
  /** `kl` of a loss. */
  readonly klInLoss: boolean;
  /** `ratio: "sequence"` of ppo. */
  readonly sequenceRatio: boolean;
  /** `dualClip` of ppo. */
  readonly dualClip: boolean;
  /** Same seed, same bits. */
  readonly deterministic: boolean;
}

export interface Engine {
  readonly capabilities: EngineCapabilities;
  /** One line for people: processor, threads, precision. */
  readonly description: string;
  /** Bytes of weights, gradients, moments and caches held in this process; absent: unknown, or elsewhere. */
  readonly memoryBytes?: number;
  /** What the bits of a result depend on beside the calls, by name. Two engines that agree in all of it give the same. */
  readonly arithmetic: Readonly<Record<string, string>>;

  /** Makes a policy from a model directory. Refuses a name in use. */
  createPolicy(options: PolicyOptions): Promise<PolicyInfo>;
  removePolicy(policy: PolicyName): Promise<void>;

  sample(request: SampleRequest, options?: Cancellable): Promise<SampledSequence[]>;
  /** Log-probabilities, or a critic's values, of the continuations without gradients; losses and weights are not needed. */
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
