/** A step's episodes: waves of tasks, the episodes of a wave all at once, and which of them the update is made from. */
import { hasZeroVariance } from "../credit/zero-variance.ts";
import { sourceOf, trainingTasks } from "../environments/tasks.ts";
import { childKey, keyAt } from "../random.ts";
import type { Episode } from "../rollout/episode.ts";
import type { FailedEpisode, Grown } from "../rollout/grow.ts";
import { growEpisodes, orFailed } from "../rollout/grow.ts";
import type { EpisodeStart } from "../rollout/record.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import { settleAll } from "../rollout/settle.ts";
import { retrying } from "../retry.ts";
import type { RetryOptions } from "../retry.ts";
import { sum } from "../statistics.ts";
import { checkFailures, retriesOf } from "./failures.ts";
import type { Session } from "./session.ts";
import { nextWave } from "./waves.ts";
import type { Played, WavePlan } from "./waves.ts";

export interface PlayedStep {
  /** All of them, in the order of their tasks. */
  readonly episodes: readonly Episode[];
  /** Those that the update is made from: all, except where the algorithm samples dynamically. */
  readonly kept: readonly Episode[];
  /** Those that a service failed: in no other list. */
  readonly failed: readonly FailedEpisode[];
  readonly waves: number;
  /** Drawn, failed episodes' too. */
  readonly tasks: number;
  /** Sampled by all roles. */
  readonly sampledTokens: number;
}

/** What the steps before this one of the stage used up. */
export interface UsedBefore {
  readonly sampledTokens: number;
  /** Drawn from the training split. */
  readonly tasks: number;
}

/** @throws ServiceError where more episodes failed than `failures.limit` allows */
export async function playStep(session: Session, stageStep: number, before: UsedBefore): Promise<PlayedStep> {
  const { dropZeroVariance } = session.algorithm.selection;
  const plan = planOf(session, stageStep, before.sampledTokens);
  const episodes: Episode[] = [];
  const kept: Episode[] = [];
  const failed: FailedEpisode[] = [];
  let [waves, drawn, tokens] = [0, 0, 0];
  for (;;) {
    const played: Played = { waves, tasks: drawn, kept: kept.length, tokens };
    const tasks = nextWave(plan, played);
    if (tasks === 0) return { episodes, kept, failed, waves, tasks: drawn, sampledTokens: tokens };
    const wave = await playWave(session, stageStep, { first: drawn, tasks, drawnBefore: before.tasks });
    waves += 1;
    drawn += tasks;
    episodes.push(...wave.episodes);
    failed.push(...wave.failed);
    checkFailures(failed, drawn, session.recipe.failures.limit);
    const isDropped = (episode: Episode) => dropZeroVariance && hasZeroVariance(episode, session.algorithm);
    kept.push(...wave.episodes.filter((episode) => !isDropped(episode)));
    tokens += sum(wave.episodes.map(sampledTokens));
  }
}

/** Whole tasks overshoot; what one step sampled too much, the next ones sample less, so that runs end up level. */
function planOf({ recipe, algorithm }: Session, stageStep: number, sampledBefore: number): WavePlan {
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

/** Tasks are numbered through a step, so that a task is the same whichever wave it falls into. */
async function playWave(session: Session, stageStep: number, wave: Wave): Promise<Grown> {
  const { root } = session;
  const setting = trainingSetting(session);
  const taskOf = trainingTasks(sourceOf(session.environment, "train"), childKey(root, "tasks"));
  const drawn = Array.from(
    { length: wave.tasks },
    async (_, index): Promise<EpisodeStart | FailedEpisode> => {
      const path = ["train", stageStep, wave.first + index];
      const draw = () => taskOf(wave.drawnBefore + wave.first + index, keyAt(root, ...path, "task"));
      return orFailed({ path }, async () => ({
        path,
        split: "train",
        task: await retrying(draw, setting.retries, session.cancel),
      }));
    },
  );
  const starts = await settleAll(drawn);
  const grown = await growEpisodes(
    setting,
    root,
    starts.filter((one) => "task" in one),
  );
  return { ...grown, failed: [...starts.filter((one) => "cause" in one), ...grown.failed] };
}

function trainingSetting({
  recipe,
  environment,
  engine,
  policies,
  teams,
  algorithm,
  cancel,
}: Session): RolloutSetting & { readonly retries: RetryOptions } {
  const { temperature, topK, topP } = recipe.train;
  return {
    environment,
    team: teams[0].team,
    engine,
    policies,
    scheme: algorithm.sampling,
    score: algorithm.score,
    sampling: { temperature, topK, topP },
    retries: retriesOf(recipe),
    ...(cancel === undefined ? {} : { signal: cancel }),
  };
}

/** Of all roles, frozen ones too. A completion that is part of several joint actions was sampled once. */
export function sampledTokens({ actions }: Pick<Episode, "actions">): number {
  return sum(actions.map(({ tokens }) => tokens.length));
}
