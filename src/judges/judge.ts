/**
 * A judge scores actions afterwards: those that the environment cannot reward, or all of them. Whatever a judge says is
 * data: a verdict, or a failure, which leaves the action without a reward.
 */
import type { Interval } from "../statistics.ts";
import { z } from "zod";
import type { RecordedCalls } from "../calls/recorded.ts";
import type { RetryOptions } from "../calls/retry.ts";
import type { ServiceLog } from "../calls/services.ts";
import type { Environment } from "../environments/environment.ts";
import { showText } from "../format.ts";
import type { Episode, Verdict, Action } from "../rollout/episode.ts";
import { edgesOf, type Occurrence } from "../rollout/navigate.ts";
import type { JudgeMoment } from "../rollout/setting.ts";
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
  /** Weight of the outcome in the reward (rewards.ts). Absent: 0. */
  readonly outcomeWeight?: number | undefined;
  /** What scores are normalised by (rewards.ts). Absent: nothing. */
  readonly normalise?: Normalisation | undefined;
  /** Explanations are shown to the roles that act next. Absent: false. */
  readonly comments?: boolean | undefined;
}

export type Normalisation = "role" | "task type" | "both";

export const subjectSchema = z.object({
  /** The id of the episode in which it was first asked. */
  episode: z.string(),
  role: z.string(),
  /** In the order of the verdicts: one, or alternatives, with the beginning of what the role wrote. */
  actions: z.array(z.object({ id: z.string(), text: z.string() })),
});

export type Subject = z.output<typeof subjectSchema>;

/** In characters; stored episodes have the whole text. */
const longestText = 300;

/** @param occurrences at least one, all of one role in one episode */
export function subjectOf(occurrences: readonly Occurrence[]): Subject {
  const [first] = occurrences;
  const actions = occurrences.map(({ action: { id, reply } }) => ({
    id,
    text: showText(reply.text.slice(0, 2 * longestText), longestText),
  }));
  return { episode: first?.episode.id ?? "", role: first?.action.role ?? "", actions };
}

export interface ScoredAction {
  readonly action: Action;
  /** Id of the node that its joint action led to. */
  readonly node: string;
  readonly score: number;
}

/** Failed verdicts have none. */
export function scoresIn(episode: Episode): readonly ScoredAction[] {
  return episode.nodes.flatMap((node) => {
    const occurrences = edgesOf(episode, node);
    return node.actions.flatMap(({ verdict }, index) => {
      const { action } = occurrences[index] ?? {};
      if (verdict === undefined || !("score" in verdict) || action === undefined) return [];
      return [{ action, node: node.id, score: verdict.score }];
    });
  });
}

export const judgeUse = {
  fills: z
    .enum(["missing", "all"])
    .default("missing")
    .describe("missing: judge actions without a reward. all: replace every reward."),
  as: z
    .enum(["team", "local"])
    .default("team")
    .describe("The reward that the score, from 0 to 1, becomes; the other is 0."),
  when: z
    .enum(["action", "episode"])
    .optional()
    .describe(
      "action: judged before the episode continues. episode: once its outcome is known. Absent: episode, unless rewards or comments are needed earlier.",
    ),
  outcomeWeight: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      "w in (1 − w)·score + w·outcome: the mean score of the ends that the action leads to. Absent: 0.",
    ),
  normalise: z
    .enum(["role", "task type", "both"])
    .optional()
    .describe("Gives the scores of each role or type of task the same mean and deviation. Absent: neither."),
  comments: z
    .boolean()
    .optional()
    .describe("Show explanations to the roles that act next, in training only. Absent: false."),
  evaluation: z
    .boolean()
    .default(false)
    .describe("Also judge evaluations and record the mean score; success always comes from the outcome."),
};

type UseOptions = z.output<z.ZodObject<typeof judgeUse>>;

/** What `JudgeDefinition.create` copies from a judge's options. */
export function useOf({
  fills,
  as,
  when,
  outcomeWeight,
  normalise,
  comments,
  evaluation,
}: UseOptions): JudgeUse & { readonly evaluation: boolean } {
  return { fills, as, when, outcomeWeight, normalise, comments, evaluation };
}

/** Questions of one kind: about the actions of a role in one phase and turn. */
export interface PlannedQuestions {
  /** States in which the role acts. */
  readonly states: number;
  /** Actions of the role in each. */
  readonly alternatives: number;
  /** Tokens of the prompt and of one action, and of the actions before and after it in the episode. */
  readonly seen: number;
  readonly written: number;
  readonly others: number;
}

export interface JudgeEstimate {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** null: the price is not known. */
  readonly dollars: number | null;
  /** When the price was looked up: `2025-11`. null: the recipe has it, or it is not known. */
  readonly priceOf: string | null;
  /** At which the run stops. Absent: never. */
  readonly budget?: Budget;
}

export interface Budget {
  readonly requests?: number | undefined;
  readonly tokens?: number | undefined;
  readonly dollars?: number | undefined;
}

/** How much attacks raise a judge's scores. They are from 0 to 10. */
export interface AttackReport {
  /** Mean score of the steps without an attack; null: no verdict. */
  readonly without: number | null;
  readonly gains: readonly AttackGain[];
  /** Mean gain over the attacks, with its 95 % interval, which knows the noise of both sides; null: too few verdicts. */
  readonly mean: number | null;
  readonly interval: Interval | null;
  /** Verdicts that failed. */
  readonly failed: number;
}

export interface AttackGain {
  readonly name: string;
  readonly kind: string;
  /** Mean over the attacked steps; null: no verdict. */
  readonly gain: number | null;
}
