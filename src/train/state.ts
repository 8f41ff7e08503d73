/** What a training is given, what is open while it runs, and what a step passes to the next. */
import type { RecordedCalls } from "../calls/recorded.ts";
import type { ServicesUsed } from "../calls/services.ts";
import type { Algorithm } from "../credit/algorithm.ts";
import type { Datum, Engine, PromptTokens, SavedPolicy } from "../engines/engine.ts";
import type { ConfiguredEngine } from "../engines/kind.ts";
import type { Environment } from "../environments/environment.ts";
import type { ConfiguredJudge } from "../judges/judge.ts";
import type { ScoreStatistics } from "../judges/rewards.ts";
import type { Key } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { Episode } from "../rollout/episode.ts";
import type { FailedEpisode } from "../rollout/grow.ts";
import type { SavedBase } from "../runs/checkpoint-state.ts";
import type { StepMetrics, Timing } from "../runs/records.ts";
import type { Run as RunFolder } from "../runs/run.ts";
import type { Listener, Stage } from "./events.ts";
import type { Interrupts } from "./interrupts.ts";
import type { Judging } from "./judging.ts";
import type { OpenPolicies } from "./policies.ts";
import type { RunServices } from "./services.ts";
import type { NamedTeams } from "./teams.ts";

/** A recipe with what its names refer to (the result of `resolveRecipe`). */
export interface Resolved {
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
  readonly judge?: ConfiguredJudge;
  /** What its `engine` says of itself, for warnings. */
  readonly configuredEngine?: ConfiguredEngine;
  /** Automatic adjustments to the recipe, reported as warnings. */
  readonly adjustments?: readonly Warning[];
}

export interface TrainOptions extends Resolved {
  /** The run's folder; created, or resumed if it holds a run of the same recipe. */
  readonly directory: string;
  /**
   * The run creates its policies in it; the caller closes it. Verbs that a service fails are retried as in the recipe's
   * `failures`.
   */
  readonly engine: Engine;
  readonly onEvent?: Listener;
  /** Early in the warm start, one task is played and emitted. It is not recorded and changes nothing. */
  readonly preview?: boolean;
  /**
   * Aborted: the run ends as interrupted at the next point at which no finished step is lost, after a checkpoint; a step
   * in progress is finished or repeated when the run resumes (interrupts.ts).
   */
  readonly stop?: AbortSignal;
  /** Aborted: the engine's work is cancelled; anything since the last checkpoint is lost. */
  readonly cancel?: AbortSignal;
}

/** A run that is open. What `run.ts` opened stays; the fields below `step` change from step to step. */
export interface Run extends Omit<Resolved, "adjustments" | "configuredEngine"> {
  readonly folder: RunFolder;
  readonly engine: Engine;
  /** What the environment is lent. */
  readonly services: RunServices;
  /** Recorded verdicts. */
  readonly verdicts: RecordedCalls;
  /** The judge of training, for the whole run; null: none. Evaluations open their own. */
  readonly judging: Judging | null;
  readonly interrupts: Interrupts;
  /** Cancels sampling, and measuring what was sampled. */
  readonly sampling: AbortSignal;
  /** The run's random key, from the recipe's seed. */
  readonly root: Key;
  readonly emit: Listener;
  /** One task is played and shown early in the warm start. */
  readonly previews: boolean;
  /** Closes what is opened later. */
  readonly closing: AsyncDisposableStack;
  /** Steps done, counted over both stages. */
  step: number;
  /** Of the current weights (ended.ts). */
  lineage: string;
  stage: OpenStage;
  /** The base models trained by a warm start of bases that is over; undefined: none. */
  bases: Readonly<Record<string, SavedBase>> | undefined;
  /** Made for the next step of the warm start. */
  examples: { readonly stageStep: number; readonly data: readonly Datum[] } | null;
  /** Null until reinforcement starts or is resumed. */
  reinforcement: ReinforcementState | null;
  /** Likewise. */
  batches: Batches | null;
  /** Of the engine, at the last record. */
  prompts: PromptTokens;
  /** Rewards outside their range have been reported. */
  isRangeReported: boolean;
  /** Rewards that train nothing are reported once. */
  areUnusedReported: boolean;
  /** Metrics of the last steps. Null before the first one of this process. */
  recent: readonly StepMetrics[] | null;
  /** Metrics of all steps of reinforcement, if they are watched. Null before they are first compared with limits. */
  history: StepMetrics[] | null;
  /** 1; halved at each return to the best checkpoint (watching.ts). */
  learningRateFactor: number;
}

/** What differs between stages; with a warm start of bases (teams.ts) even the policies do. */
export interface OpenStage {
  /** The stage's recipe: in a warm start of bases, bases take the places of the policies. */
  readonly recipe: Recipe;
  readonly policies: OpenPolicies;
  /** The trained team first. */
  readonly teams: NamedTeams;
  /** Names of the policies whose weights change in the stage. */
  readonly trained: ReadonlySet<string>;
}

/** What one step of reinforcement passes to the next, besides weights and moments. */
export interface ReinforcementState {
  /** The trained policies at the start of reinforcement, if references or critics start from them. */
  readonly beginning: Readonly<Record<string, SavedPolicy>>;
  /** β by policy, of algorithms with a KL term. */
  readonly klCoefficients: Readonly<Record<string, number>>;
  /** Of groups that span the run: what their baselines have come to. Empty for other algorithms. */
  readonly baselines: Readonly<Record<string, number>>;
  /** Since the start of reinforcement. */
  readonly sampledTokens: number;
  /** Drawn from the training split. */
  readonly tasks: number;
  /** Of the judge, if its scores are normalised. Absent: none yet. */
  readonly scores?: ScoreStatistics | undefined;
}

/** What earlier steps of the stage used. */
export type UsedBefore = Pick<ReinforcementState, "sampledTokens" | "tasks" | "scores">;

/** The episodes of a step, judged. */
export interface StepEpisodes {
  /** All, in the order of their tasks. */
  readonly episodes: readonly Episode[];
  /** Those in the update: all, unless the algorithm samples dynamically. */
  readonly kept: readonly Episode[];
  /** Lost to failing services; in no other list. */
  readonly failed: readonly FailedEpisode[];
  readonly waves: number;
  /** Drawn tasks, including those of failed episodes. */
  readonly tasks: number;
  /** Sampled by all roles. */
  readonly sampledTokens: number;
  /** Of the judge, for the next step. Absent: scores are not normalised. */
  readonly scores?: ScoreStatistics;
  /** What services did. */
  readonly services: ServicesUsed;
}

/** What samples: the policies, or copies of them. */
export interface Sampler extends Pick<Engine, "sample"> {
  /** Of their weights (ended.ts). */
  readonly lineage: string;
}

/** Where the batch of a step comes from (prefetch.ts). */
export interface Batches {
  take(stageStep: number, before: UsedBefore): Promise<Batch>;
  /** Called with the next step, when a step's batch is sampled and before anything of it is trained. */
  prepare(stageStep: number, before: UsedBefore): void;
  /** Waits for a batch that is sampled ahead, and saves its samples in a checkpoint's folder. */
  save(folder: string): Promise<{ readonly nextBatch?: string }>;
}

export interface Batch {
  readonly played: StepEpisodes;
  /** Sampled from the weights before the latest step. */
  readonly isOffPolicy: boolean;
}

/** The records of a step. */
export interface StepRecord {
  readonly metrics: StepMetrics;
  readonly timing: Timing;
}

/** A step of a stage, from 1. */
export interface Place {
  readonly stage: Stage;
  readonly stageStep: number;
}

export function placeOf({ warmStart }: Recipe, step: number): Place {
  const warmSteps = warmStart?.steps ?? 0;
  return step <= warmSteps
    ? { stage: "warm-start", stageStep: step }
    : { stage: "reinforcement", stageStep: step - warmSteps };
}

/** A step as people see it: `warm start 25`, `step 3`. */
export function showStep(recipe: Recipe, step: number): string {
  const { stage, stageStep } = placeOf(recipe, step);
  return `${stage === "warm-start" ? "warm start" : "step"} ${stageStep}`;
}
