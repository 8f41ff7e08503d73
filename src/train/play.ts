/** Samples a step's episodes: waves of tasks, each wave's episodes concurrently, and selects those for the update. */
import type { Algorithm } from "../credit/algorithm.ts";
import { knownReturns } from "../credit/known-returns.ts";
import { hasZeroVariance } from "../credit/zero-variance.ts";
import { sourceOf, trainingTasks } from "../environments/tasks.ts";
import { childKey, keyAt, type Key } from "../random.ts";
import type { ScoreStatistics } from "../judges/normalise.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Episode } from "../rollout/episode.ts";
import type { FailedEpisode, Grown } from "../rollout/grow.ts";
import { growEpisodes, orFailed } from "../rollout/grow.ts";
import type { EpisodeStart } from "../rollout/record.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import { settleAll } from "../settle.ts";
import { retrying } from "../calls/retry.ts";
import { withServicesUsed, type ServicesUsed } from "../calls/services.ts";
import { sum } from "../statistics.ts";
import { TroupeError } from "../errors.ts";
import { settledWithin } from "../calls/deadline.ts";
import { checkFailures } from "./failures.ts";
import type { Judging } from "./judging.ts";
import { checkFaults } from "./service-use.ts";
import { nextWave } from "./waves.ts";
import type { WaveProgress, WavePlan } from "./waves.ts";

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

/** What earlier steps of the stage used. */
export interface UsedBefore {
  readonly sampledTokens: number;
  /** Drawn from the training split. */
  readonly tasks: number;
  /** Of the judge's scores. Absent: none yet. */
  readonly scores?: ScoreStatistics | undefined;
}

/** What sampling a step needs. */
export interface PlaySetting {
  readonly rollout: RolloutSetting;
  readonly algorithm: Algorithm;
  readonly tasks: Pick<Recipe["train"], "tasksPerStep" | "tokensPerStep">;
  /** The run's random key. */
  readonly root: Key;
  /** Share of a step's episodes that may be lost to failing services. */
  readonly failureLimit: number;
  /** Null: no judge. */
  readonly judging: Judging | null;
}

/**
 * @throws ServiceError if more episodes, or more verdicts, failed than the limit allows; TroupeError `bad_recipe` if
 * nothing of the first step can be credited because nothing rewards it
 */
export function playStep(setting: PlaySetting, stageStep: number, before: UsedBefore): Promise<StepEpisodes> {
  const { signal } = setting.rollout;
  const played = playCounted(setting, stageStep, before);
  // An environment or a judge need not notice the signal.
  return signal === undefined ? played : settledWithin(played, signal);
}

async function playCounted(
  setting: PlaySetting,
  stageStep: number,
  before: UsedBefore,
): Promise<StepEpisodes> {
  const { value, services } = await withServicesUsed(() => playWaves(setting, stageStep, before));
  checkFaults(services, setting.failureLimit);
  return { ...value, services };
}

async function playWaves(
  setting: PlaySetting,
  stageStep: number,
  before: UsedBefore,
): Promise<Omit<StepEpisodes, "services">> {
  const { algorithm } = setting;
  const plan = planOf(setting, stageStep, before.sampledTokens);
  const episodes: Episode[] = [];
  const kept: Episode[] = [];
  const failed: FailedEpisode[] = [];
  let [waves, drawn, tokens] = [0, 0, 0];
  for (;;) {
    const progress: WaveProgress = { waves, tasks: drawn, kept: kept.length, tokens };
    const tasks = nextWave(plan, progress);
    if (tasks === 0) break;
    const wave = await playWave(setting, stageStep, { first: drawn, tasks, drawnBefore: before.tasks });
    waves += 1;
    drawn += tasks;
    episodes.push(...wave.episodes);
    failed.push(...wave.failed);
    checkFailures(failed, drawn, setting.failureLimit);
    const isDropped = (episode: Episode) =>
      algorithm.selection.dropZeroVariance && hasZeroVariance(episode, algorithm);
    kept.push(...wave.episodes.filter((episode) => !isDropped(episode)));
    tokens += sum(wave.episodes.map(sampledTokens));
  }
  await setting.judging?.settle(episodes);
  if (stageStep === 1) checkRewards(episodes, setting);
  const counts = { failed, waves, tasks: drawn, sampledTokens: tokens };
  return { ...(await normalised(setting, episodes, kept, before.scores)), ...counts };
}

/** Once per step, when all its scores are known. */
async function normalised(
  { judging }: PlaySetting,
  episodes: readonly Episode[],
  kept: readonly Episode[],
  before: ScoreStatistics = {},
): Promise<Pick<StepEpisodes, "episodes" | "kept" | "scores">> {
  const normalise = judging?.normalise ?? null;
  if (normalise === null) return { episodes, kept };
  const scaled = await normalise(episodes, before);
  const isKept = new Set(kept);
  return {
    episodes: scaled.episodes,
    kept: scaled.episodes.filter((_, index) => isKept.has(episodes[index] as Episode)),
    scores: scaled.statistics,
  };
}

/** Only in the first step: later ones may lack rewards because a judge fails, which has its own limit. */
function checkRewards(episodes: readonly Episode[], { algorithm, rollout }: PlaySetting): void {
  if (episodes.length === 0 || episodes.some((episode) => knownReturns(episode, algorithm).length > 0))
    return;
  const { environment } = rollout;
  throw new TroupeError(
    "bad_recipe",
    `No action can be credited: ${environment.name} left all that ${algorithm.name} credits without a reward. Add a judge to ` +
      "the recipe, such as `judge: { name: command, run: [node, judge.ts] }`, under another name for the run.",
  );
}

/** Whole tasks overshoot; the next steps sample less to compensate, so that runs end up with equal totals. */
function planOf({ tasks, algorithm }: PlaySetting, stageStep: number, sampledBefore: number): WavePlan {
  const { tasksPerStep, tokensPerStep } = tasks;
  const { dropZeroVariance, refills } = algorithm.selection;
  const tokens = tokensPerStep === undefined ? undefined : stageStep * tokensPerStep - sampledBefore;
  return { tasksPerStep, tokens, refills: dropZeroVariance ? refills : 0 };
}

interface Wave {
  /** Number of its first task in the step. */
  readonly first: number;
  readonly tasks: number;
  readonly drawnBefore: number;
}

/** Tasks are numbered within a step, so that a task does not depend on its wave. */
async function playWave({ rollout, root }: PlaySetting, stageStep: number, wave: Wave): Promise<Grown> {
  const taskOf = trainingTasks(sourceOf(rollout.environment, "train"), childKey(root, "tasks"));
  const drawn = Array.from(
    { length: wave.tasks },
    async (_, index): Promise<EpisodeStart | FailedEpisode> => {
      const path = ["train", stageStep, wave.first + index];
      const draw = () => taskOf(wave.drawnBefore + wave.first + index, keyAt(root, ...path, "task"));
      return orFailed({ path }, async () => ({
        path,
        split: "train",
        task: await retrying(draw, rollout.retries, rollout.signal),
      }));
    },
  );
  const starts = await settleAll(drawn);
  const grown = await growEpisodes(
    rollout,
    root,
    starts.filter((one) => "task" in one),
  );
  return { ...grown, failed: [...starts.filter((one) => "cause" in one), ...grown.failed] };
}

/** By all roles, including frozen ones. A completion in several joint actions was sampled once. */
function sampledTokens({ actions }: Pick<Episode, "actions">): number {
  return sum(actions.map(({ tokens }) => tokens.length));
}
