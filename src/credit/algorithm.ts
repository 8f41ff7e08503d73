/**
 * An algorithm is a row, not a trainer: sampling × return × group × baseline × scale × objective. Each column is a small
 * pure function in a file of its own; `algorithms.ts` is the table. Nothing here touches an engine.
 */
import type { Loss } from "../engines/engine.ts";
import type { ActionReward } from "../environments/environment.ts";
import type { Action, Episode, EpisodeNode, SamplingScheme } from "../rollout/episode.ts";

/** An action with its place in the tree. */
export interface PlacedAction {
  readonly episode: Episode;
  /** The node the action led to. */
  readonly node: EpisodeNode;
  readonly action: Action;
}

/** The reward of one action as one number: α·team + local. What the sampler's `keep: best` compares. */
export type Score = (reward: ActionReward) => number;

/** What an action earned, as one number. */
export type Return = (placed: PlacedAction) => number;

/** Which actions are compared with each other, and what counts once among them. */
export interface Grouping {
  /** Actions with the same key form a group. */
  readonly key: (placed: PlacedAction) => string;
  /**
   * Actions of a group with the same unit share one return and enter its statistics once: a trajectory is one sample
   * however many actions it took.
   */
  readonly unit: (placed: PlacedAction) => string;
}

/** What is subtracted, one number for each of a group's returns. */
export type Baseline = (returns: readonly number[]) => readonly number[];
/** What the differences are divided by; finite and above zero. */
export type Scale = (returns: readonly number[]) => number;

/**
 * How the tokens' terms become one loss. The engine sums; the divisor is folded into the advantages.
 * `token-mean`: every token of the batch weighs the same; `sequence-mean`: every action does.
 */
export type Aggregation = "token-mean" | "sequence-mean";

export interface Objective {
  readonly loss: Loss;
  readonly aggregation: Aggregation;
}

export interface Algorithm {
  readonly name: string;
  /** Paper and equation. */
  readonly source: string;
  readonly sampling: SamplingScheme;
  readonly score: Score;
  readonly returns: Return;
  readonly grouping: Grouping;
  readonly baseline: Baseline;
  readonly scale: Scale;
  readonly objective: Objective;
}

export interface CreditedAction extends PlacedAction {
  readonly group: string;
  readonly return: number;
  /** The same for each token of the action. A frozen role's is 0. */
  readonly advantage: number;
}
