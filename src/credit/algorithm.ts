/**
 * An algorithm is not a trainer. It picks one function per column of a table: sampling, return, group, baseline, scale, token
 * credit, objective. Each is small and pure. There is a file for each kind of column (`returns.ts`, `groups.ts`, …) and for each
 * family of rows (`rows/`); `algorithms.ts` is the table, and `credit.ts` and `data.ts` compute. Nothing here touches an engine.
 */
import type { z } from "zod";
import type { KlEstimator, Loss } from "../engines/engine.ts";
import type { ActionReward } from "../environments/environment.ts";
import type { Action, SamplingScheme } from "../rollout/episode.ts";
import type { Occurrence } from "../rollout/navigate.ts";

export type { Occurrence } from "../rollout/navigate.ts";

/** A completion with its place in the tree: the node it led to, or the first of them in cross mode. */
export interface PlacedAction extends Occurrence {
  /** Every joint action that contains it. One, except in cross mode. */
  readonly occurrences: readonly Occurrence[];
}

/** The reward of one action as one number: α·team + local. What the sampler's `keep: best` compares. */
export type Score = (reward: ActionReward) => number;

/** What each action earned, after shaping between roles and penalties. */
export interface Rewards {
  /**
   * Score, shaped, plus `extra`; `missing` without a reward. NaN propagates: whatever depends on a missing reward is
   * missing too, without checks in the formulas.
   */
  readonly of: (occurrence: Occurrence) => number;
  /** What the algorithm adds to an action's reward: over-long penalty, and −β·Σ KL if KL is part of the reward. */
  readonly extra: (action: Action) => number;
}

/** An unknown number: NaN, so that it cannot be mistaken for a value. */
export const missing: number = Number.NaN;

/** An action's return; `missing` if it depends on a missing reward. */
export type Return = (placed: PlacedAction, rewards: Rewards) => number;

/** Which actions are compared with each other, and what counts as one sample. */
export interface Grouping {
  /** Actions with the same key form a group. */
  readonly key: (placed: PlacedAction) => string;
  /**
   * Actions of a group with the same key are one sample: they share one return, which enters the group's statistics once.
   * A trajectory is one sample, however many actions it contains.
   */
  readonly sampleKey: (placed: PlacedAction) => string;
  /** Actions with the same key belong in one minibatch. Absent: those of a group. */
  readonly minibatchKey?: (placed: PlacedAction) => string;
  /**
   * `batch`: over the tasks of a step. `run`: also over its steps; the group's baseline continues where the step before left
   * it. Absent: a group lies within one task.
   */
  readonly spans?: "batch" | "run";
}

/**
 * b, what is subtracted: one number for each return of a group, in their order. Returns have one entry per sample.
 * @param before of a group that spans the run: what its baseline had come to before these
 */
export type Baseline = (returns: readonly number[], before?: number) => readonly number[];
/** F, what the differences of a group are divided by; finite and above zero. */
export type Scale = (returns: readonly number[]) => number;

/**
 * How an action's credit becomes one number per token: the same for all, to go, or GAE. Gets all actions of a step that
 * are not frozen, and returns one entry for each, in their order.
 */
export interface TokenCredit {
  readonly toTokens: (
    compared: readonly ComparedAction[],
    context: CreditContext,
  ) => readonly TokenAdvantages[];
  /** KL in the reward is charged per token here, not in the action's return. */
  readonly chargesKl: boolean;
}

/** An action with its return and (R − b) / F; either both are `missing` or neither. */
export interface ComparedAction extends PlacedAction {
  readonly group: string;
  readonly return: number;
  readonly advantage: number;
}

export interface TokenAdvantages {
  /** One per token of the action. */
  readonly advantages: Float64Array;
  /** The critic's targets, one for each value it was asked for. */
  readonly valueTargets?: Float64Array;
}

export interface CreditContext {
  readonly kl: KlTerm | null;
  readonly signals: Signals;
}

/** Normalises the advantages of one policy's whole batch, once. One array per action, one number per token. */
export type Whitening = (advantages: readonly Float64Array[]) => readonly Float64Array[];

/**
 * How the tokens' terms become one loss. The engine sums; the divisor is folded into the advantages.
 * `token-mean`: every token of the batch weighs the same; `sequence-mean`: every action does; `sequence-sum`: the sum
 * over an action's tokens, the mean over actions.
 */
export type Aggregation = "token-mean" | "sequence-mean" | "sequence-sum";

export interface Objective {
  readonly loss: Loss;
  readonly aggregation: Aggregation;
}

/** KL to a reference, in the reward or in the loss. */
export interface KlTerm {
  readonly where: "reward" | "loss";
  /**
   * The reference: a policy of the run, as it is before the step's updates. Absent: each policy as it was at the start
   * of reinforcement, frozen.
   */
  readonly to?: string | undefined;
  readonly estimator: KlEstimator;
  /** β at the first step. */
  readonly coefficient: number;
  /** Adaptive: the measured KL per token, in nats, that β is adapted to (`adaptKl`). null: β is constant. */
  readonly target: number | null;
  /** Of the adaptation: tokens over which β changes by the clip of .2. */
  readonly horizon: number;
}

export interface CriticTerm {
  /**
   * `role`: one critic per role, named by `criticName`; `central`: one that sees the prompts of all roles of the phase.
   */
  readonly scope: "role" | "central";
  /** `tokens`: a value before each token of an action; `prompt`: one value, before the first. */
  readonly at: "tokens" | "prompt";
  /** The loss clips values to this distance from the old ones (PPO2's value clip). null: off. */
  readonly clip: number | null;
  /** null: the learning rate of the recipe's train section. */
  readonly learningRate: number | null;
  /** Passes over the step's data. */
  readonly epochs: number;
}

/** Which actions train. */
export interface Selection {
  /** Dynamic sampling: episodes whose groups all have zero variance are dropped, and the step is refilled. */
  readonly dropZeroVariance: boolean;
  /** Most times a step samples again to fill up. */
  readonly refills: number;
  /** Actions cut off by their length limit: `mask` uses them in their group's statistics only. */
  readonly truncated: "train" | "mask";
  /** Samples of a group that are compared and trained, those whose returns vary most (PODS). Absent: all. */
  readonly downSample?: number;
}

/**
 * Why an action of a trained role is in no group's statistics and in no update: its return is not among those of its group
 * that vary most, or it was sampled for the value of an action before it (`SamplingScheme.continued`).
 */
export type LeftOut = "down-sampled" | "continuation";

/** Why an action adds nothing to the loss although its role trains, its return is known and it is not left out. */
export type Untrained = "empty" | "truncated" | "no-advantage";

/** DAPO's soft over-long penalty; lengths in tokens. */
export interface Overlong {
  /** No penalty up to length − buffer tokens, the whole penalty from `length` tokens on. */
  readonly length: number;
  readonly buffer: number;
  readonly penalty: number;
}

export interface Algorithm {
  readonly name: string;
  /** Paper and equation. */
  readonly source: string;
  readonly sampling: SamplingScheme;
  readonly score: Score;
  /** How earlier rewards of other roles change an action's team reward (MARTI). null: not at all. */
  readonly shaping: Shaping | null;
  readonly overlong: Overlong | null;
  readonly returns: Return;
  readonly grouping: Grouping;
  readonly baseline: Baseline;
  readonly scale: Scale;
  readonly tokenCredit: TokenCredit;
  readonly whitening: Whitening | null;
  /** Factors of the advantages by turn, one for each turn of the team. null: 1. */
  readonly turnWeights: readonly number[] | null;
  /** Additional factor of the advantages of a turn that the sampler's `stopAbove` made the last. */
  readonly earlyEndWeight: number;
  readonly objective: Objective;
  readonly kl: KlTerm | null;
  readonly critic: CriticTerm | null;
  readonly selection: Selection;
}

/** @param own The action's team reward. @param earlier Team rewards of the actions before it, in order; may be empty. */
export type Shaping = (own: number, earlier: readonly number[]) => number;

/** Measured by the loop, once per completion, if the algorithm needs it. */
export interface Signals {
  /** Log-probabilities of the action's tokens under the reference. Needed if `kl` is not null. */
  readonly reference?: (action: Action) => Float32Array | undefined;
  /**
   * Log-probabilities of the action's tokens under the policy before the update. Absent: that policy sampled them.
   */
  readonly proximal?: (action: Action) => Float32Array | undefined;
  /** The critic's values, one per token or one (`CriticTerm.at`). Needed if `critic` is not null. */
  readonly values?: (action: Action) => Float32Array | undefined;
  /** The current β, by policy. Absent: the term's own coefficient. */
  readonly klCoefficient?: (policy: string) => number;
  /** Of groups that span the run: what their baselines came to in the steps before. Absent: 0. */
  readonly baselines?: Readonly<Record<string, number>>;
}

export interface CreditedAction extends PlacedAction {
  readonly group: string;
  /** Actions with the same key stay in one minibatch. */
  readonly minibatchKey: string;
  /** Its weight in the means of the loss, see `treeWeight`. */
  readonly weight: number;
  /** null: depends on a missing reward. Such an action trains nothing and is in no statistic; its advantages are 0. */
  readonly return: number | null;
  /** Its advantages are then 0. Absent: it trains, unless it is frozen, masked or lacks its return. */
  readonly leftOut?: LeftOut;
  /** The return before KL was charged; NaN if a reward is missing. */
  readonly earned: number;
  /** One per token. A frozen role's are 0. */
  readonly advantages: Float64Array;
  /** Their mean, for people. */
  readonly advantage: number;
  readonly valueTargets?: Float64Array;
}

/** A row of the table. */
export interface AlgorithmRow {
  /** Paper and equation. */
  readonly source: string;
  readonly summary: string;
  /** The options a recipe may give besides `name`, with defaults. Strict: an unknown key is an error. */
  readonly options: z.ZodObject;
  /** Creates an algorithm from `options`, which are checked first. @throws ZodError */
  build(options: unknown): Columns;
}

export type Columns = Omit<Algorithm, "name" | "source">;

export function row<Schema extends z.ZodObject>(
  source: string,
  summary: string,
  options: Schema,
  columns: (options: z.output<Schema>) => Columns,
): AlgorithmRow {
  return { source, summary, options, build: (input) => columns(options.parse(input)) };
}
