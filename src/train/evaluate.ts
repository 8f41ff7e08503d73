/** Evaluates a team on tasks that are not trained on: the same for every team, run and seed. */
import type { Environment, Json, Services } from "../environments/environment.ts";
import type { Engine } from "../engines/engine.ts";
import { evaluationSeed, evaluationTasks, pathName, type NumberedTask } from "../environments/tasks.ts";
import { TroupeError } from "../errors.ts";
import { rootKey } from "../random.ts";
import type { RetryOptions } from "../calls/retry.ts";
import { withServicesUsed, type ServicesUsed } from "../calls/services.ts";
import type { Episode } from "../rollout/episode.ts";
import type { FailedEpisode } from "../rollout/grow.ts";
import { growEpisode, orFailed } from "../rollout/grow.ts";
import type { EpisodeStart } from "../rollout/record.ts";
import { playingDefaults } from "../rollout/setting.ts";
import type { RolloutPolicy, RolloutSetting } from "../rollout/setting.ts";
import { limiter, settleAll } from "../settle.ts";
import type { Team } from "../teams/team.ts";
import { checkFailures, checkFaults, countsOf, Unrewarded } from "./failures.ts";
import { startJudging, type Judging, type RecordedJudge } from "./judging.ts";
import { scoresOf, type Scores } from "./scores.ts";

export interface EvaluationSetting {
  readonly engine: Pick<Engine, "sample">;
  readonly environment: Environment;
  /** What the environment is lent. Default: nothing. */
  readonly services?: Services;
  readonly timeout?: RolloutSetting["timeout"];
  readonly concurrency?: RolloutSetting["concurrency"];
  readonly ended?: RolloutSetting["ended"];
  readonly team: Team;
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  /** Default: heldOut. */
  readonly split?: string | undefined;
  /** Distinct; fewer if the split has fewer. */
  readonly tasks: number;
  /** Episodes of each task. Default: 1. */
  readonly samples?: number;
  /** The k of pass@k, at most `samples`. Default: none. */
  readonly passAt?: readonly number[];
  readonly temperature: number;
  readonly topP: number;
  /** Of sampling; tasks do not depend on it. Default: 0. */
  readonly seed?: number | undefined;
  readonly onProgress?: (done: number, episodes: number) => void;
  /** Prefix of episode ids. Default: the split's name in paths. */
  readonly name?: string;
  /** Called in the order of the tasks, one at a time, as the episodes finish. */
  readonly onEpisode?: (episode: Episode) => Promise<void>;
  readonly retries?: RetryOptions;
  /** Share of the episodes that may be lost to failing services. Default: 0. */
  readonly failureLimit?: number;
  readonly signal?: AbortSignal | undefined;
  /** Opened for the evaluation. Default: null, no judge. */
  readonly judging?: RecordedJudge | null;
}

export interface EvaluatedEpisodes {
  readonly scores: Scores;
  readonly episodes: readonly Episode[];
  readonly failed: readonly FailedEpisode[];
  /** What services did. */
  readonly services: ServicesUsed;
}

/**
 * Plays the requested number of distinct tasks of the split, or all that exist, `samples` times each.
 * @throws TroupeError `cancelled` if the signal aborts, `service` if more than `failureLimit` of the episodes failed
 */
export async function evaluatePolicies(setting: EvaluationSetting): Promise<EvaluatedEpisodes> {
  const judging = openJudging(setting);
  try {
    const { value, services } = await withServicesUsed(() => playTasks(setting, judging));
    checkFaults(services, setting.failureLimit ?? 0);
    return { ...value, scores: { ...value.scores, ...countsOf(services) }, services };
  } finally {
    await judging?.close();
  }
}

function openJudging(setting: EvaluationSetting): Judging | null {
  const { judging, environment, team, signal, failureLimit = 0 } = setting;
  if (judging === undefined || judging === null) return null;
  const { judge: _, ...recorded } = judging;
  const retries = setting.retries ?? playingDefaults.retries;
  const context = { ...recorded, environment, team, retries, signal };
  return startJudging(judging.judge, context, failureLimit);
}

async function playTasks(
  setting: EvaluationSetting,
  judging: Judging | null,
): Promise<Omit<EvaluatedEpisodes, "services">> {
  // Not the recipe's seed: runs with other seeds are measured in the same way.
  const drawn = rootKey(setting.seed ?? evaluationSeed);
  const { temperature, topP } = setting;
  const rollout: RolloutSetting = {
    ...playingDefaults,
    ...setting,
    sampling: { temperature, topP },
    judge: judging?.judge ?? null,
    judgeMoment: setting.judging?.moment,
  };
  const split = setting.split ?? "heldOut";
  const tasks = await evaluationTasks(setting.environment, split, setting.tasks, setting.retries);
  if (tasks.length === 0) throw new TroupeError("bad_arguments", `the split ${split} has no task`);
  const starts = tasks.flatMap((task) => startsOf(setting, split, task));
  let done = 0;
  const play = async (start: EpisodeStart): Promise<Episode | FailedEpisode> => {
    const episode = await orFailed(start, () => withOutcome(growEpisode(rollout, drawn, start)));
    done += 1;
    setting.onProgress?.(done, starts.length);
    return episode;
  };
  const limited = limiter(rollout.concurrency);
  const playing = starts.map((start) => limited(() => play(start)));
  const handedOn = inOrder(playing, setting.onEpisode);
  await settleAll<unknown>([...playing, handedOn]);
  const played = await Promise.all(playing);
  const failed = played.filter((one) => "cause" in one);
  checkFailures(failed, starts.length, setting.failureLimit ?? 0);
  const episodes = played.filter((one) => "nodes" in one);
  await judging?.settle(episodes);
  return { episodes, failed, scores: scoresOf(episodes, { ...setting, split, failed: failed.length }) };
}

/** @throws Unrewarded if nothing rewards the episode of a program: it is neither a success nor a failure of the team */
async function withOutcome(played: Promise<Episode>): Promise<Episode> {
  const episode = await played;
  if (episode.ends.length > 0) return episode;
  throw new Unrewarded("Nothing rewards the episode: its program gave no reward (`environment.reward`).");
}

/** A task's first episode has the same id and key whatever the number of samples. */
function startsOf(
  { name, samples = 1 }: EvaluationSetting,
  split: string,
  { index, task }: NumberedTask<Json>,
): EpisodeStart[] {
  return Array.from({ length: samples }, (_, sample) => {
    const place = sample === 0 ? [index] : [index, "sample", sample];
    const id = [name ?? pathName(split), ...place].join("/");
    return { id, path: [pathName(split), ...place], split, task };
  });
}

/** Errors are thrown by whoever awaits the episodes. */
async function inOrder(
  playing: readonly Promise<Episode | FailedEpisode>[],
  onEpisode: EvaluationSetting["onEpisode"],
): Promise<void> {
  if (onEpisode === undefined) return;
  for (const episode of playing) {
    const played = await episode.catch(() => null);
    if (played !== null && "nodes" in played) await onEpisode(played);
  }
}
