/**
 * An engine computes. It has a handful of verbs on policies: sample, forward, forwardBackward, optimStep, snapshot,
 * checkpoint, restore. Tokens in, tokens out; one advantage per token; a loss is a SUM over tokens. These are the verbs
 * of the Tinker protocol, so that an engine in this process and one behind HTTP have the same interface.
 *
 * Order. Verbs of one policy take effect in the order of the calls, awaited or not: a caller may submit a step's
 * gradients and its update, then await both. If a verb that changes a policy (createPolicy, forwardBackward, optimStep,
 * restore) fails, calls already queued for that policy fail too, with the same code, and take no effect, so that no
 * update uses incomplete gradients. After that the policy accepts verbs again, in its state before the failed one; if
 * `restore` failed while it wrote weights, it accepts only another `restore` or its removal. Arrays passed to a verb must
 * not be changed before its promise settles.
 */
import type { AdapterOptions } from "../models/adapter-options.ts";

/** A policy is trainable weights: a whole model, or an adapter on one. The name is the recipe's. */
export type PolicyName = string;

export interface PolicyOptions {
  readonly name: PolicyName;
  /**
   * The model it is made from, which policies may share in memory: the engine's identifier of a model, or saved
   * weights. For an engine on this machine a model directory in the Hugging Face layout, or an adapter's in the PEFT
   * layout, whose weights the policy starts from, on the base that it names.
   */
  readonly model: string | StoredPolicy;
  /** Weights to start from instead, saved from a policy of the same model: for references, or for a critic's trunk. */
  readonly from?: StoredPolicy;
  /** Present: an adapter on the model; for an adapter's directory the same settings. Absent: whatever `model` is. */
  readonly adapter?: AdapterOptions;
  /**
   * A critic: the model's trunk with a head that gives one number per position instead of logits. The head starts at
   * zero. A critic gives values and is trained with the loss `value`; it cannot be sampled.
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
  /** Sequences to sample from this prompt, which is computed once. */
  readonly count: number;
  /** Token t of sequence i depends only on (seed, i, t), never on concurrent work. A non-negative safe integer. */
  readonly seed: number;
  /**
   * Later prompts may begin with this one and what is sampled from it, as a conversation's do: the engine may keep what it
   * computed, for as long as the policy's weights stay. Results have the same bits. Absent: false.
   */
  readonly continued?: boolean;
}

export interface SampledSequence {
  readonly tokens: Int32Array;
  /** Log-probability of each token at temperature 1 without top-k or top-p, in nats. */
  readonly logprobs: Float32Array;
  /** Entropy of the distribution that each of `logprobs` is of, in nats. Absent: the engine does not measure it. */
  readonly entropies?: Float32Array;
  /** `stop`: a stop token or string; `length`: maxTokens or the model's limit. */
  readonly stopReason: "stop" | "length";
  /** The version of the policy that sampled it: the number of optimizer steps. */
  readonly policyVersion: number;
}

/** Weights saved by an engine. Plain data: it survives JSON, and any engine of the same type can read it. */
export interface SavedPolicy {
  /** `checkpoint`: with the optimizer's state, so that training resumes bit for bit. */
  readonly kind: "snapshot" | "checkpoint";
  /** In a format of the engine. */
  readonly location: string;
  /** Optimizer steps of the weights. */
  readonly version: number;
  /**
   * A model directory (Hugging Face layout) or an adapter directory (PEFT layout) for other programs, relative to the
   * folder it was saved in; null: the engine keeps its weights elsewhere.
   */
  readonly directory: string | null;
}

/** Where to save weights. An engine that keeps them elsewhere may interpret the name. */
export interface SavePlace {
  /** A folder of this machine, which may be moved later with its contents. */
  readonly folder: string;
  /** Name of one file or directory. An earlier save of this name is replaced. */
  readonly name: string;
}

/** Saved weights, and the current path of the folder they were saved in. */
export interface StoredPolicy {
  readonly saved: SavedPolicy;
  readonly folder: string;
}

/** A copy of a policy's weights, to sample from while the policy changes. */
export interface PolicyCopy {
  /** Like `Engine.sample`, with any policy's name in the request; no change of the policy waits for it. */
  sample(request: SampleRequest, options?: Cancellable): Promise<SampledSequence[]>;
  /** Frees its memory. Call once, after the last sample. */
  release(): Promise<void>;
}

/** One continuation of a shared prompt; all arrays have the length of `tokens`. */
export interface Continuation {
  readonly tokens: Int32Array;
  /** cross_entropy, value: weight of each token (absent: 1). A loss with `entropy`: that of its entropy. */
  readonly weights?: Float32Array;
  /** importance_sampling, ppo, cispo. */
  readonly advantages?: Float32Array;
  /** importance_sampling, ppo, cispo: log-probabilities under the policy that sampled. */
  readonly logprobs?: Float32Array;
  /** importance_sampling, ppo, cispo: log-probabilities under a reference policy, for a loss with `kl`. */
  readonly reference?: Float32Array;
  /** importance_sampling, ppo, cispo: coefficient of the divergence from the reference, for a loss with `kl`. */
  readonly penalties?: Float32Array;
  /** value: the target for each token's value. */
  readonly targets?: Float32Array;
  /** value with `clip`: the critic's values when the tokens were sampled. */
  readonly values?: Float32Array;
  /**
   * 0: a token that others wrote between this policy's. It is read, and its log-probability returned, but it is in no
   * sum, mean or gradient. 1: any other. In all continuations or in none.
   */
  readonly mask?: Float32Array;
}

/** Continuations that share a prompt, which is computed once, forward and backward. */
export interface Datum {
  readonly policy: PolicyName;
  readonly prompt: Int32Array;
  readonly continuations: readonly Continuation[];
}

/**
 * The estimator of the divergence from a reference from one sampled token, with d = logp − reference
 * (joschu.net/blog/kl-approx.html): k1 = d, k2 = d²/2, k3 = e^−d − 1 + d. In k3, d is clamped to ±10, where the
 * gradient becomes zero, so that one token cannot outweigh a batch.
 */
export type KlEstimator = "k1" | "k2" | "k3";

/**
 * Adds Σ penalties·k to a loss; the gradient is that of k itself. Requires a reference and penalties in every
 * continuation.
 */
export interface KlInLoss {
  readonly kl?: KlEstimator;
}

/** −Σ w·logp */
export interface CrossEntropyLoss {
  readonly type: "cross_entropy";
}

/**
 * Subtracts a bonus, entropy·Σ weights·H, from a loss: H is the entropy, in nats, of the whole distribution that
 * predicts the token, and the gradient is exact.
 */
export interface EntropyInLoss {
  /** Absent: none. */
  readonly entropy?: number;
}

/** −Σ ρ·A */
export interface ImportanceSamplingLoss extends KlInLoss, EntropyInLoss {
  readonly type: "importance_sampling";
}

/** −Σ min(ρA, clip(ρ, 1−low, 1+high)·A) */
export interface PpoLoss extends KlInLoss, EntropyInLoss {
  readonly type: "ppo";
  readonly clipLow: number;
  readonly clipHigh: number;
  /** c > 1: for A < 0 the term is at least c·A (arXiv:1912.09729, eq. 5). Absent: off. */
  readonly dualClip?: number;
  /**
   * `sequence`: every token has its continuation's ρ, exp(mean(logp − logprobs)) (GSPO, arXiv:2507.18071, eq. 7).
   * Absent: `token`.
   */
  readonly ratio?: "token" | "sequence";
}

/** −Σ clip(ρ, 1−low, 1+high)·A·logp; the clipped ratio is a constant (CISPO, arXiv:2506.13585, eq. 4). */
export interface CispoLoss extends KlInLoss, EntropyInLoss {
  readonly type: "cispo";
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** ½·Σ w·max((v − target)², (clip(v, old ± clip) − target)²); for critics. */
export interface ValueLoss {
  readonly type: "value";
  /** Absent: the squared error only. */
  readonly clip?: number;
}

/** Sums over tokens. ρ = exp(logp − logprobs), A = advantages. */
export type Loss = CrossEntropyLoss | ImportanceSamplingLoss | PpoLoss | CispoLoss | ValueLoss;

export interface LossResult {
  /** The sum over tokens. */
  readonly loss: number;
  readonly tokens: number;
  /** Sum over tokens of the next-token distribution's entropy, in nats; absent: the engine does not measure it. */
  readonly entropy?: number;
  /** Sum over tokens of ρ − 1 − ln ρ, an estimate of KL(sampled ‖ now); 0 for cross_entropy. */
  readonly kl: number;
  /** Sum over tokens of k3 (see KlEstimator): KL(now ‖ reference); absent without references. */
  readonly referenceKl?: number;
  /** ppo, value: tokens whose gradient the clip removed; cispo: whose ratio it changed. */
  readonly clipped: number;
  /** New log-probabilities, one array per continuation, in the order of the data; empty arrays for critics. */
  readonly logprobs: readonly Float32Array[];
  /**
   * A critic's values, one array per continuation, in the order of the data; absent without critics. Value t is that
   * before token t: at the position before it, the prompt's last one for t = 0.
   */
  readonly values?: readonly Float32Array[];
  /** Of `forward` with `top`: one per continuation, in the order of the data. */
  readonly top?: readonly TopTokens[];
}

/** The most probable tokens in the place of each token, in nats and in descending order; of equal ones the lower id. */
export interface TopTokens {
  /** `top` for each token. */
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
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

export interface ForwardOptions extends Cancellable {
  /** How many of the most probable tokens to name in each place; only policies have them. Absent: none. */
  readonly top?: number;
}

/** What an engine supports; a recipe that needs more is rejected before training starts. */
export interface EngineCapabilities {
  readonly wholeModel: boolean;
  readonly adapters: boolean;
  readonly losses: readonly Loss["type"][];
  readonly topK: boolean;
  /** Generation can end with a text, not only with tokens. */
  readonly stopStrings: boolean;
  /** `entropy` of a loss's result. */
  readonly entropy: boolean;
  /** `gradientNorm` of a step's result. */
  readonly gradientNorm: boolean;
  /** Policies with a value head, and the loss `value`. */
  readonly critic: boolean;
  /** `kl` of a loss. */
  readonly klInLoss: boolean;
  /** `entropy` of a loss, which needs the whole distribution. Absent: false. */
  readonly entropyInLoss?: boolean;
  /** `ratio: "sequence"` of ppo. */
  readonly sequenceRatio: boolean;
  /** `dualClip` of ppo. */
  readonly dualClip: boolean;
  /** `copy`. Absent: false. */
  readonly copy?: boolean;
  /** `top` of `forward`. Absent: false. */
  readonly top?: boolean;
  /** `topP` below 1 of samples. Absent: true. */
  readonly topP?: boolean;
  /** What a server has fixed or bounded. Absent: nothing. */
  readonly limits?: EngineLimits;
}

export interface EngineLimits {
  /** Values of the optimizer that a step does not set. */
  readonly adam?: Partial<AdamOptions>;
  /** The only scale of adapters. */
  readonly adapterAlpha?: number;
  /** Projections that get an adapter together or not at all; a single group: always. */
  readonly adapterModules?: readonly (readonly string[])[];
  /** Adapters are on models that the server has from the beginning, not on saved weights. */
  readonly servedBases?: boolean;
  /** Policies, with references, at a time. */
  readonly policies?: number;
}

/** A server that computes for an engine, at this moment. */
export interface ServerLoad {
  /** Its host and port. */
  readonly server: string;
  /** Requests without a result. */
  readonly waiting: number;
  /** What it says of the queue that they are in; null: nothing, or that it works on them. */
  readonly queue: string | null;
  /** What it says it has room for. */
  readonly capacity: string | null;
  /** Since when it has not answered; null: it answers. */
  readonly silence: ServerSilence | null;
}

export interface ServerSilence {
  readonly seconds: number;
  /** What was met instead of an answer. */
  readonly why: string;
}

export interface BatchSize {
  /** Of the policy that has most, a prompt's once. */
  readonly tokens: number;
  /** How many of them are prompts'. */
  readonly prompts: number;
  /** Tokens of the longest sequence. */
  readonly longest: number;
  /** That are sampled together, of all policies. */
  readonly sequences: number;
}

/** Tokens of prompts since the engine was opened. */
export interface PromptTokens {
  readonly computed: number;
  /** Found among what requests that are `continued` left. */
  readonly reused: number;
}

/** In bytes. */
export interface ProcessMemory {
  /** Of the engine's process. */
  readonly host: number;
  /** Of a GPU with a memory of its own. Absent: there is none. */
  readonly device?: number | undefined;
}

export interface Engine {
  readonly capabilities: EngineCapabilities;
  /** One line for people: processor, threads, precision. */
  readonly description: string;
  /** Bytes of weights, gradients, moments and caches held by this process or its worker; absent: unknown, or elsewhere. */
  readonly memoryBytes?: number | undefined;
  /** Absent: it does not say. */
  readonly promptTokens?: PromptTokens | undefined;
  /** All that the engine's own process holds; absent: unknown, or it computes in this process or elsewhere. */
  readonly processMemory?: ProcessMemory | undefined;
  /**
   * Memory for sampling and training such a batch: of an engine in a process of its own with everything in it, of one in
   * this process what it takes beside what it holds. Absent: it computes elsewhere. Policies exist already.
   */
  predictMemory?(work: BatchSize): Promise<ProcessMemory>;
  /** What was saved in one folder is in another now: an engine that reads it again by itself has to know. */
  moved?(from: string, to: string): void;
  /** Of its servers; absent: it computes in this process. */
  readonly load?: readonly ServerLoad[] | undefined;
  /** Whether it retries failed services itself; other engines are wrapped for that (retrying.ts). Default: no. */
  readonly retries?: boolean;
  /** What else determines the bits of a result, by name. Engines that agree in all of it give the same bits. */
  readonly arithmetic: Readonly<Record<string, string>>;

  /**
   * Creates a policy of version 0, or of the version of the saved weights it starts from. A name in use is rejected.
   */
  createPolicy(options: PolicyOptions): Promise<PolicyInfo>;
  removePolicy(policy: PolicyName): Promise<void>;

  sample(request: SampleRequest, options?: Cancellable): Promise<SampledSequence[]>;
  /**
   * Log-probabilities, or a critic's values, of the continuations, without gradients; losses and weights are not
   * needed.
   */
  forward(data: readonly Datum[], options?: ForwardOptions): Promise<LossResult>;
  /**
   * Adds to the gradients of every policy named in the data. If rejected, or failed by a service, it leaves them
   * unchanged; if cancelled while running, it leaves them zero.
   */
  forwardBackward(data: readonly Datum[], loss: Loss, options?: Cancellable): Promise<LossResult>;
  /** An AdamW step of one policy; its gradient is zero afterwards. */
  optimStep(policy: PolicyName, adam: AdamOptions): Promise<UpdateResult>;

  /** Saves the policy's weights atomically. */
  snapshot(policy: PolicyName, place: SavePlace): Promise<SavedPolicy>;
  /** Like `snapshot`, with optimizer moments and step count. */
  checkpoint(policy: PolicyName, place: SavePlace): Promise<SavedPolicy>;
  /**
   * Replaces the policy's weights and version by those saved from a policy of the same shape; a checkpoint also
   * restores its optimizer state. Gradients are zero afterwards.
   */
  restore(policy: PolicyName, stored: StoredPolicy): Promise<void>;
  /**
   * Writes a model directory (whole model, Hugging Face layout) or an adapter directory (PEFT layout), atomically.
   * Absent: not supported.
   */
  export?(policy: PolicyName, directory: string): Promise<void>;

  /** A copy of the weights of this moment, in the order of the calls. Absent: see `EngineCapabilities.copy`. */
  copy?(policy: PolicyName): Promise<PolicyCopy>;

  /**
   * Somebody waits for the end: until it is disposed, a verb whose server has not answered for some seconds fails with a
   * ServiceError instead of trying for minutes. One that the server works on is unaffected. Absent: no server.
   */
  failFast?(): Disposable;

  /** Resolves once it can compute; its description is then complete. Absent: from the start. */
  ready?(): Promise<unknown>;

  /** Cancels running work and frees memory. */
  close(): Promise<void>;
}

export interface PolicyInfo {
  readonly name: PolicyName;
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Longest sequence in tokens, prompt included. */
  readonly maxLength: number;
  readonly vocabularySize: number;
  /** Why the tokenizer of the model's directory could not be compared with the engine's. Absent: nothing is in doubt. */
  readonly uncheckedTokenizer?: string;
}
