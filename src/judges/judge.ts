/**
 * A judge scores actions afterwards: those that the environment cannot reward, or all of them. Whatever a judge says is
 * data: a verdict, or a failure, which leaves the action without a reward.
 */
import type { Environment } from "../environments/environment.ts";
import type { RetryOptions } from "../calls/retry.ts";
import type { Episode, Verdict } from "../rollout/episode.ts";
import type { JudgeMoment } from "../rollout/setting.ts";
import type { JudgeEstimate, PlannedQuestions } from "./estimate.ts";
import type { AttackReport } from "./attack-report.ts";
import type { Occurrence } from "../rollout/navigate.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import type { ServiceLog } from "../calls/services.ts";
import type { Team } from "../teams/team.ts";

export interface Judge {
  /**
   * Judges actions of an episode. The episode may still be growing: it then consists of the path to the actions in
   * question, and its end is unknown.
   * @returns a verdict for each; a missing one counts as a failure
   * @throws ServiceError, which counts as a failure of all of them; TroupeError `cancelled`
   */
  judge(episode: Episode, asked: readonly Occurrence[]): Promise<readonly GivenVerdict[]>;
  /** Records the failures so far as final, so that a resumed run finds the same failures. */
  settle(): Promise<void>;
  /** Closes what it keeps open; it is not asked afterwards. */
  close(): Promise<void>;
}

export interface GivenVerdict {
  /** Ids of the action and of the node that its joint action led to. */
  readonly node: string;
  readonly action: string;
  readonly verdict: Verdict;
}

/** What a judge uses besides its own options. */
export interface JudgeContext {
  /** The environment and the team whose actions are judged. */
  readonly environment: Environment;
  readonly team: Team;
  /** Answers recorded in this run. */
  readonly calls: RecordedCalls;
  readonly retries: RetryOptions;
  /** Counts calls of services by their names. */
  readonly log?: ServiceLog | undefined;
  /** Tells the user why judging takes longer, and that it goes on: "paused for 20 seconds: …". */
  readonly report?: ((notice: string) => void) | undefined;
  /** The command that prints what the judge said, for messages. */
  readonly show?: string | undefined;
  /** Aborted: judging ends with the error `cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

/** An entry of the table of judges: creates a judge from checked options. */
export interface JudgeDefinition {
  readonly summary: string;
  /** Includes the options of every judge (`judgeUse`). */
  readonly options: { parse(input: unknown): unknown };
  /** Names of the options that verdicts do not depend on: a run may be resumed with others. */
  readonly incidental: readonly string[];
  /** An option that is a folder, relative to the file that sets it. Default: the folder of the file that sets `of`. */
  readonly folder?: { readonly option: string; readonly of: string };
  create(options: unknown): ConfiguredJudge;
  /** Reasons why a judge with these options cannot work on this machine, or with these roles. Absent: there are none. */
  problems?(options: unknown, roles: readonly string[]): readonly OptionProblem[];
}

export interface OptionProblem {
  readonly option: string;
  readonly problem: string;
  readonly fix: string;
}

/** A judge as configured in a recipe. */
export interface ConfiguredJudge extends JudgeUse {
  /** Whether evaluations are judged, too. */
  readonly evaluation: boolean;
  open(context: JudgeContext): Judge;
  /** What these questions would cost. Absent: nothing that is known. */
  estimate?(plan: readonly PlannedQuestions[]): JudgeEstimate;
  /** Measures how much attacks raise its scores. Absent: it cannot be measured. */
  measureAttacks?(
    context: Pick<JudgeContext, "calls" | "retries" | "log" | "report" | "show" | "signal">,
  ): Promise<AttackReport>;
}

/** Which actions a judge is asked about, when, and how its scores are used. */
export interface JudgeUse {
  /** missing: actions without a reward. all: every action; the score replaces the reward. */
  readonly fills: "missing" | "all";
  /** The part of the reward that the score becomes; the other part is 0. */
  readonly as: "team" | "local";
  /**
   * action: before the episode continues. episode: once its outcome is known. Absent: episode, unless the sampler or a
   * role needs the verdict earlier (`momentOf`).
   */
  readonly when?: JudgeMoment | undefined;
  /** Weight of the outcome in the reward (`mixed-rewards.ts`). Absent: 0. */
  readonly outcomeWeight?: number | undefined;
  /** What scores are normalised by (`normalise.ts`). Absent: nothing. */
  readonly normalise?: Normalisation | undefined;
  /** Explanations are shown to the roles that act next. Absent: false. */
  readonly comments?: boolean | undefined;
}

export type Normalisation = "role" | "task type" | "both";
