/**
 * What computes. An engine is a handful of verbs over policies: sample, forward, forwardBackward, optimStep, snapshot,
 * checkpoint, restore. Tokens in, tokens out; credit arrives as one advantage per token; a loss is a SUM over tokens.
 * These are the verbs of the Tinker protocol, so an engine in this process and one behind HTTP look the same from here.
 *
 * Order. Verbs of one policy take effect in the order of the calls, awaited or not: a caller may submit a step's gradients
 * and its update, then await both. A verb that changes a policy (createPolicy, forwardBackward, optimStep, restore) and
 * fails also fails those of the policy's verbs that were submitted before its failure was reported, with the same code;
 * none of them takes effect, so that no update is made of half the gradients. From then on the policy takes verbs again,
 * from where it stood before the failed one. Arrays passed to a verb must not be changed before its promise settles.
 */
import type { AdapterOptions } from "../models/adapter-options.ts";

/** A policy is trainable weights: a whole model, or an adapter on one. The name is the recipe's. */
export type PolicyName = string;

export interface PolicyOptions {
  readonly name: PolicyName;
  /**
   * The model it is made from, which policies may share in memory: what the engine knows models by, or weights that it
   * saved. For an engine on this machine a model directory in the Hugging Face layout, or an adapter's in the PEFT layout,
   * whose weights the policy then begins with, on the base that it names.
   */
  readonly model: string | StoredPolicy;
  /** Weights to begin with instead, saved from a policy of the same model: those of a reference, or of a critic's trunk. */
  readonly from?: StoredPolicy;
  /** Present: an adapter on the model; of an adapter's directory the same settings. Absent: what the weights are. */
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
  /** The version of the policy that sampled it: optimizer steps behind its weights. */
  readonly policyVersion: number;
}

/** Weights that an engine has saved. Plain data: it survives JSON, and an engine of the same type knows it again. */
export interface SavedPolicy {
  /** `checkpoint`: with the optimizer's state, so that training resumes bit for bit. */
  readonly kind: "snapshot" | "checkpoint";
  /** In the engine's own terms. */
  readonly location: string;
  /** Optimizer steps behind the weights. */
  readonly version: number;
  /**
   * A model directory (Hugging Face layout) or an adapter directory (PEFT layout) that other programs can load, seen from
   * the folder it was saved in; null: the engine keeps its weights elsewhere.
   */
  readonly directory: string | null;
}

/** Where the caller would have weights saved. An engine that keeps them elsewhere makes of the name what it needs. */
export interface SavePlace {
  /** A folder of this machine, which may be moved later with all that is in it. */
  readonly folder: string;
  /** Of one file or directory. An earlier save of this name is replaced. */
  readonly name: string;
}

/** Saved weights, and the folder that they were saved in as it is called now. */
export interface StoredPolicy {
  readonly saved: SavedPolicy;
  readonly folder: string;
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
export interface KlInLoss {
  readonly kl?: KlEstimator;
}

/** −Σ w·logp */
export interface CrossEntropyLoss {
  readonly type: "cross_entropy";
}

/** −Σ ρ·A */
export interface ImportanceSamplingLoss extends KlInLoss {
  readonly type: "importance_sampling";
}

/** −Σ min(ρA, clip(ρ, 1−low, 1+high)·A) */
export interface PpoLoss extends KlInLoss {
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
  /** Sum over tokens of the next-token distribution's entropy, in nats; absent: the engine does not measure it. */
  readonly entropy?: number;
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

export interface UpdateResult {
  /** Euclidean norm of the gradient before clipping; absent: the engine does not measure it. */
  readonly gradientNorm?: number;
}

export interface Cancellable {
  readonly signal?: AbortSignal;
}

/** What an engine supports; a recipe that asks for more is rejected before training starts. */
export interface EngineCapabilities {
  readonly wholeModel: boolean;
  readonly adapters: boolean;
  readonly losses: readonly Loss["type"][];
  readonly topK: boolean;
  /** Generation can end with a text, not with tokens alone. */
  readonly stopStrings: boolean;
  /** `entropy` of a loss's result. */
  readonly entropy: boolean;
  /** `gradientNorm` of a step's result. */
  readonly gradientNorm: boolean;
  /** Policies with a value head, and the loss `value`. */
  readonly critic: boolean;
  /** `kl` of a loss. */
  readonly klInLoss: boolean;
  /** `ratio: "sequence"` of ppo. */
  readonly sequenceRatio: boolean;
  /** `dualClip` of ppo. */
  readonly dualClip: boolean;
}

export interface Engine {
  readonly capabilities: EngineCapabilities;
  /** One line for people: processor, threads, precision. */
  readonly description: string;
  /** Bytes of weights, gradients, moments and caches held in this process; absent: unknown, or elsewhere. */
  readonly memoryBytes?: number | undefined;
  /** Whether it tries failed services again by itself; other engines are wrapped for that (retrying.ts). Default: no. */
  readonly retries?: boolean;
  /** What the bits of a result depend on beside the calls, by name. Two engines that agree in all of it give the same. */
  readonly arithmetic: Readonly<Record<string, string>>;

  /** Makes a policy, of version 0 or that of the saved weights it begins with. A name in use is rejected. */
  createPolicy(options: PolicyOptions): Promise<PolicyInfo>;
  removePolicy(policy: PolicyName): Promise<void>;

  sample(request: SampleRequest, options?: Cancellable): Promise<SampledSequence[]>;
  /** Log-probabilities, or a critic's values, of the continuations without gradients; losses and weights are not needed. */
  forward(data: readonly Datum[], options?: Cancellable): Promise<LossResult>;
  /**
   * Adds to the gradients of every policy named in the data. Rejected, or failed by a service, it leaves them as they were;
   * cancelled while it runs, it leaves them zero.
   */
  forwardBackward(data: readonly Datum[], loss: Loss, options?: Cancellable): Promise<LossResult>;
  /** AdamW on one policy; its gradient is zero afterwards. */
  optimStep(policy: PolicyName, adam: AdamOptions): Promise<UpdateResult>;

  /** Saves the policy's weights, whole or not at all. */
  snapshot(policy: PolicyName, place: SavePlace): Promise<SavedPolicy>;
  /** The same with optimizer moments and step count. */
  checkpoint(policy: PolicyName, place: SavePlace): Promise<SavedPolicy>;
  /**
   * Replaces the policy's weights and version by those saved from a policy of the same shape, and by a checkpoint its
   * optimizer state. Gradients are zero afterwards.
   */
  restore(policy: PolicyName, stored: StoredPolicy): Promise<void>;
  /**
   * Writes a model directory (whole model, Hugging Face layout) or an adapter directory (PEFT layout), atomically. Absent:
   * the engine cannot.
   */
  export?(policy: PolicyName, directory: string): Promise<void>;

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
