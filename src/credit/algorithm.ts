/**
 * An algorithm is a row, not a trainer: sampling × return × group × baseline × scale × objective. Each column is a small
 * pure function in a file of its own; `algorithms.ts` is the table. Nothing here touches an engine.
 */
import type { Loss } from "../engines/engine.ts";
import type { Action, Episode, EpisodeNode, SamplingScheme } from "../rollout/episode.ts";

/** An action with its place in the tree. */
export interface PlacedAction {
  readonly episode: Episode;
  /** The node the action led to. */
  readonly node: EpisodeNode;
  readonly action: Action;
}

/** The numbers an algorithm may be given in a recipe; a row takes those it knows and refuses the others. */
export interface AlgorithmOptions {
  /** Weight of the team's reward: α·team + local. */
  readonly alpha: number;
}

/** Reward turned into one number per action. */
export type Return = (placed: PlacedAction, options: AlgorithmOptions) => number;
/** Actions with the same key are compared with each other. */
export type GroupKey = (placed: PlacedAction) => string;
/** What is subtracted from each member's return. */
export type Baseline = (returns: readonly number[]) => readonly number[];
/** What the difference is divided by. */
export type Scale = (returns: readonly number[]) => number;

/** How the per-token terms become one loss. The engine sums; these are folded into the advantages. */
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
  readonly returns: Return;
  readonly group: GroupKey;
  readonly baseline: Baseline;
  readonly scale: Scale;
  readonly objective: Objective;
  readonly options: AlgorithmOptions;
}

export interface CreditedAction extends PlacedAction {
  readonly group: string;
  readonly return: number;
  /** The same for each token of the action. */
  readonly advantage: number;
}
