/**
 * A judge says afterwards what actions were worth: where an environment cannot know it, or in place of what it gave.
 * Whatever a judge says is data: a verdict, or a failure, and then the action has no reward.
 */
import type { RetryOptions } from "../retry.ts";
import type { Episode, Verdict } from "../rollout/episode.ts";
import type { Occurrence } from "../rollout/navigate.ts";
import type { RecordedCalls } from "../runs/recorded-calls.ts";

export interface Judge {
  /**
   * Judges actions of an episode, which may still be growing: then it consists of the way to the actions asked about, and
   * nothing is known of how it ends.
   * @returns a verdict for each of them; one that is missing counts as a failure
   * @throws ServiceError, which counts as a failure for all that were asked; TroupeError `cancelled`
   */
  judge(episode: Episode, asked: readonly Occurrence[]): Promise<readonly GivenVerdict[]>;
  /** What failed so far has failed for good: it is recorded, so that a resumed run finds the same failures. */
  settle(): Promise<void>;
}

export interface GivenVerdict {
  /** Ids of the node that the joint action led to and of the action. */
  readonly node: string;
  readonly action: string;
  readonly verdict: Verdict;
}

/** What a judge works with, besides its own options. */
export interface JudgeContext {
  /** What was answered before, in this run. */
  readonly calls: RecordedCalls;
  readonly retries: RetryOptions;
  /** Aborted: judging ends with an error `cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

/** An entry of the table of judges: its options, checked, make a judge. */
export interface JudgeDefinition {
  readonly summary: string;
  /** Those of every judge (`judgeUse`) among them. */
  readonly options: { parse(input: unknown): unknown };
  create(options: unknown): ConfiguredJudge;
}

/** A judge as a recipe asks for it. */
export interface ConfiguredJudge extends JudgeUse {
  /** Whether the episodes of evaluations are judged, too. */
  readonly evaluation: boolean;
  open(context: JudgeContext): Judge;
}

/** What a judge is asked for and how its scores are used. */
export interface JudgeUse {
  /** missing: actions that the environment left without a reward. all: every action; the score replaces the reward. */
  readonly fills: "missing" | "all";
  /** The part of the reward that the score becomes; the other part is 0. */
  readonly as: "team" | "local";
}
