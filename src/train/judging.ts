/** A judge, of a run or of an evaluation: verdicts are recorded in the run's folder, and the share that may fail is limited. */
import { unrecordedCalls, type RecordedCalls } from "../calls/recorded.ts";
import { retrying } from "../calls/retry.ts";
import type { Json } from "../environments/environment.ts";
import { judgeEpisode } from "../judges/judge-episode.ts";
import type { ConfiguredJudge, JudgeContext, JudgeUse } from "../judges/judge.ts";
import { mixedRewards, scalingBy, withScores, type ScoreStatistics } from "../judges/rewards.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { Episode, RewardedAction } from "../rollout/episode.ts";
import { momentOf } from "../rollout/judging.ts";
import type { JudgeMoment } from "../rollout/setting.ts";
import { layoutOf } from "../runs/layout.ts";
import { acquireLock, type Lock } from "../runs/lock.ts";
import { openRecordedCalls, readRecordedCalls } from "../runs/recorded-calls.ts";
import { settleAll } from "../settle.ts";
import { boundFailures } from "./failures.ts";

/** A judge during a step, or an evaluation. */
export interface Judging {
  readonly judge: (episode: Episode) => Promise<Episode>;
  /**
   * Ends judging these episodes. Failures in them become final.
   * @throws TooManyFailures above the share of actions that may fail
   */
  readonly settle: (episodes: readonly Episode[]) => Promise<void>;
  /** Null: scores are not normalised. */
  readonly normalise: Normalise | null;
  readonly close: () => Promise<void>;
}

/** All episodes of a step with normalised rewards, in the same order, and the statistics for the next step. */
export type Normalise = (
  episodes: readonly Episode[],
  before: ScoreStatistics,
) => Promise<{ readonly episodes: readonly Episode[]; readonly statistics: ScoreStatistics }>;

/** A judge to open, and where its verdicts are read and recorded. */
export interface RecordedJudge {
  readonly judge: ConfiguredJudge;
  /** As in training: a judge that knows the outcome gives other verdicts. */
  readonly moment: JudgeMoment;
  readonly calls: RecordedCalls;
  readonly report?: JudgeContext["report"];
}

/** @param limit share of the judged actions that may fail */
export function startJudging(configured: ConfiguredJudge, context: JudgeContext, limit: number): Judging {
  const judge = configured.open(context);
  return {
    judge: (episode) => judgeEpisode(episode, judge, configured),
    async settle(episodes) {
      checkVerdicts(episodes, limit);
      await judge.settle();
    },
    normalise: normaliserOf(configured, context),
    close: () => judge.close(),
  };
}

/** Null: scores are not normalised. */
export function normaliserOf(use: JudgeUse, context: Typing): Normalise | null {
  const { normalise: by } = use;
  if (by === undefined) return null;
  return async (episodes, before) => {
    const types = await typesOf(context, episodes);
    const kinds = { by, typeOf: ({ task }: Episode) => types.get(task) ?? "" };
    const statistics = withScores(before, episodes, kinds);
    const scaled = (episode: Episode) => mixedRewards(episode, use, scalingBy(statistics, episode, kinds));
    return { statistics, episodes: episodes.map(scaled) };
  };
}

type Typing = Pick<JudgeContext, "environment" | "retries" | "signal">;

async function typesOf(
  { environment, retries, signal }: Typing,
  episodes: readonly Episode[],
): Promise<ReadonlyMap<Json, string>> {
  if (environment.about === undefined) return new Map();
  const typeOf = async ({ task }: Episode): Promise<[Json, string]> => {
    const about = await retrying(async () => environment.about?.(task), retries, signal);
    return [task, about?.type ?? ""];
  };
  return new Map(await settleAll(episodes.map(typeOf)));
}

/** Every part of a joint action that a judge was asked about. */
export function judgedActions({ nodes }: Pick<Episode, "nodes">): Judged[] {
  return nodes.flatMap(({ actions }) => actions).filter((edge): edge is Judged => edge.verdict !== undefined);
}

type Judged = RewardedAction & Required<Pick<RewardedAction, "verdict">>;

export function failuresOf(episode: Pick<Episode, "nodes">): string[] {
  return judgedActions(episode).flatMap(({ verdict }) => ("failure" in verdict ? [verdict.failure] : []));
}

/** A service's own words may end with a full stop. */
function sentence(text = ""): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** As for episodes: some may fail, but not all. */
function checkVerdicts(episodes: readonly Episode[], limit: number): void {
  const asked = episodes.reduce((sum, episode) => sum + judgedActions(episode).length, 0);
  const failures = episodes.flatMap((episode) =>
    failuresOf(episode).map((failure) => ({ episode: episode.id, failure })),
  );
  const [first] = failures;
  const describe = (allowed: string): string =>
    `the judge failed on ${failures.length} of ${asked} actions, ${allowed}. The first, in ${first?.episode}: ${sentence(first?.failure)}`;
  boundFailures(failures.length, asked, limit, describe);
}

/** The judge of an evaluation besides a training: it finds the run's verdicts and records its own with them. */
export interface EvaluationJudge extends AsyncDisposable {
  /** Null: the recipe's judge does not judge evaluations. */
  readonly judging: RecordedJudge | null;
}

/**
 * Takes the run's lock until it is disposed of. While another process has it, or if nothing can be written there, new
 * verdicts are not recorded.
 * @param run null: a model directory
 */
export async function evaluationJudge(
  { judge, algorithm }: Pick<ResolvedRecipe, "judge" | "algorithm">,
  run: string | null,
): Promise<EvaluationJudge> {
  if (judge?.evaluation !== true) return { judging: null, [Symbol.asyncDispose]: async () => {} };
  const lock = run === null ? null : await acquireLock(run).catch(() => null);
  try {
    const calls = await callsOf(run, lock);
    const judging = { judge, moment: momentOf(judge, algorithm.sampling), calls };
    return { judging, [Symbol.asyncDispose]: async () => lock?.release() };
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

async function callsOf(run: string | null, lock: Lock | null): Promise<RecordedCalls> {
  if (run === null) return unrecordedCalls();
  const { verdicts } = layoutOf(run);
  return lock === null ? readRecordedCalls(verdicts) : withoutFailures(await openRecordedCalls(verdicts));
}

/** A failure counts for the episode of a training in which it occurred; the next evaluation asks again. */
function withoutFailures(calls: RecordedCalls): RecordedCalls {
  return {
    get: (key) => calls.get(key),
    put: (answers) => calls.put(answers.filter((one) => !("failure" in one))),
  };
}
