/**
 * The episodes of a step: waves of tasks, each wave's episodes concurrently, judged as the sampler grows them. The first
 * wave has the recipe's tasksPerStep. More follow if the recipe requests a number of sampled tokens, or if the
 * algorithm dropped tasks with zero variance (dynamic sampling).
 */
import { retrying } from "../calls/retry.ts";
import { knownReturns, hasZeroVariance } from "../credit/selection.ts";
import { sourceOf, trainingTasks } from "../environments/tasks.ts";
import { TroupeError } from "../errors.ts";
import type { ScoreStatistics } from "../judges/rewards.ts";
import { childKey, keyAt, type Key } from "../random.ts";
import type { Episode } from "../rollout/episode.ts";
import { growEpisodes, orFailed, type FailedEpisode, type Grown } from "../rollout/grow.ts";
import { momentOf } from "../rollout/judging.ts";
import type { EpisodeStart } from "../rollout/record.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import { settleAll } from "../settle.ts";
import { sum } from "../statistics.ts";
import { endedIn } from "./ended.ts";
import { checkFailures, limitsOf, retriesOf } from "./failures.ts";
import type { Run, Sampler, StepEpisodes, UsedBefore } from "./state.ts";

type Sampled = Omit<StepEpisodes, "services" | "scores">;

/**
 * @throws ServiceError if more episodes failed than the limit allows
 */
export async function sample(
  run: Run,
  stageStep: number,
  before: UsedBefore,
  sampler: Sampler,
  signal: AbortSignal,
): Promise<Sampled> {
  const { algorithm, recipe, root } = run;
  const ended = endedIn(run, (recipe.warmStart?.steps ?? 0) + stageStep, sampler.lineage);
  const rollout = { ...rolloutOf(run), engine: sampler, signal, ended };
  const plan = planOf(run, stageStep, before.sampledTokens);
  const episodes: Episode[] = [];
  const kept: Episode[] = [];
  const failed: FailedEpisode[] = [];
  let [waves, drawn, tokens] = [0, 0, 0];
  for (;;) {
    const tasks = nextWave(plan, { waves, tasks: drawn, kept: kept.length, tokens });
    if (tasks === 0) break;
    const wave = await sampleWave(rollout, root, stageStep, {
      first: drawn,
      tasks,
      drawnBefore: before.tasks,
    });
    waves += 1;
    drawn += tasks;
    episodes.push(...wave.episodes);
    failed.push(...wave.failed);
    checkFailures(failed, drawn, recipe.failures.limit);
    const isDropped = (episode: Episode) =>
      algorithm.selection.dropZeroVariance && hasZeroVariance(episode, algorithm);
    kept.push(...wave.episodes.filter((episode) => !isDropped(episode)));
    tokens += sum(wave.episodes.map(sampledTokens));
  }
  return { episodes, kept, failed, waves, tasks: drawn, sampledTokens: tokens };
}

function rolloutOf(run: Run): Omit<RolloutSetting, "engine" | "signal"> {
  const { recipe, stage, algorithm, judging } = run;
  const { temperature, topK, topP } = recipe.train;
  return {
    ...limitsOf(recipe),
    environment: run.environment,
    services: run.services,
    team: stage.teams[0].team,
    policies: stage.policies,
    scheme: algorithm.sampling,
    score: algorithm.score,
    sampling: { temperature, topK, topP },
    retries: retriesOf(recipe),
    judge: judging?.judge ?? null,
    judgeMoment: run.judge && momentOf(run.judge, algorithm.sampling),
    comments: run.judge?.comments ?? false,
  };
}

/**
 * The sampler has asked the judge already; here its failures become final, and its scores are normalised.
 * @throws ServiceError if more verdicts failed than the limit allows; TroupeError `bad_recipe` if nothing of the first
 * step can be credited because nothing rewards it
 */
export async function judge(
  run: Run,
  step: Sampled,
  stageStep: number,
  before: ScoreStatistics = {},
): Promise<Omit<StepEpisodes, "services">> {
  const { episodes, kept } = step;
  const { judging } = run;
  await judging?.settle(episodes);
  if (stageStep === 1) checkRewards(run, episodes);
  const normalise = judging?.normalise ?? null;
  if (normalise === null) return step;
  const scaled = await normalise(episodes, before);
  const isKept = new Set(kept);
  return {
    ...step,
    episodes: scaled.episodes,
    kept: scaled.episodes.filter((_, index) => isKept.has(episodes[index] as Episode)),
    scores: scaled.statistics,
  };
}

/** Only in the first step: later ones may lack rewards because a judge fails, which has its own limit. */
function checkRewards(
  { algorithm, environment }: Pick<Run, "algorithm" | "environment">,
  episodes: readonly Episode[],
): void {
  if (episodes.length === 0 || episodes.some((episode) => knownReturns(episode, algorithm).length > 0))
    return;
  const [first] = episodes;
  checkMasks(algorithm, episodes);
  if (episodes.every(({ actions }) => actions.length === 0))
    throw new TroupeError(
      "bad_recipe",
      `No role was called in any of ${episodes.length} episodes. How the first one ended: ${environment.render(first?.nodes.at(-1)?.state ?? null)}`,
    );
  throw new TroupeError(
    "bad_recipe",
    `No action can be credited: ${environment.name} left all that ${algorithm.name} credits without a reward. Add a judge to ` +
      "the recipe, such as `judge: { name: command, run: [node, judge.ts] }`, under another name for the run.",
  );
}

/** @throws TroupeError `bad_recipe` if replies that could train are masked, for whatever reasons but a missing reward */
function checkMasks({ name }: Run["algorithm"], episodes: readonly Episode[]): void {
  const masked = episodes.flatMap(({ actions, ends }) => (ends.length === 0 ? [] : actions));
  const reasons = new Map(
    [...Map.groupBy(masked, (one) => one.masked)].map(([reason, { length }]) => [reason, length]),
  );
  reasons.delete(undefined);
  if (reasons.size === 0) return;
  const shown = [...reasons].map(([reason, count]) => `${count} times because ${reason}`).join(", ");
  throw new TroupeError(
    "bad_recipe",
    `${name} can train no reply: all were masked, ${shown}. Change the program or the algorithm, under another name for the run.`,
  );
}

/** Whole tasks overshoot; the next steps sample less to compensate, so that runs end up with equal totals. */
function planOf({ recipe, algorithm }: Run, stageStep: number, sampledBefore: number): WavePlan {
  const { tasksPerStep, tokensPerStep } = recipe.train;
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
async function sampleWave(rollout: RolloutSetting, root: Key, stageStep: number, wave: Wave): Promise<Grown> {
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

export interface WavePlan {
  readonly tasksPerStep: number;
  /** Tokens that the step samples at least; absent: as many as its tasks take. */
  readonly tokens?: number | undefined;
  /** Most further waves to replace dropped tasks. Ignored with `tokens`. */
  readonly refills: number;
}

export interface WaveProgress {
  readonly waves: number;
  readonly tasks: number;
  /** Tasks that were not dropped. */
  readonly kept: number;
  /** Sampled by all roles, including dropped tasks. */
  readonly tokens: number;
}

/** A wave is sized by the tokens per task so far; the first few tasks could be far from typical. */
const growth = 4;

/** Tasks of the next wave; 0: the step is complete. Deterministic. */
export function nextWave(plan: WavePlan, progress: WaveProgress): number {
  if (progress.waves === 0) return plan.tasksPerStep;
  if (plan.tokens !== undefined) return tasksFor(plan.tokens - progress.tokens, progress);
  return progress.waves > plan.refills ? 0 : Math.max(0, plan.tasksPerStep - progress.kept);
}

/** Whole tasks for this many tokens; at least one while any are missing, so that the waves end. */
function tasksFor(missing: number, { tasks, tokens }: WaveProgress): number {
  if (missing <= 0) return 0;
  const perTask = Math.max(1, tokens / tasks);
  return Math.min(growth * tasks, Math.ceil(missing / perTask));
}
