/** A step's episodes: waves of tasks, the episodes of a wave all at once, and which of them the update is made from. */
import { teaches } from "../credit/teaches.ts";
import { keyAt } from "../random.ts";
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { growEpisodes } from "../rollout/grow.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import type { Session } from "./session.ts";
import { nextWave } from "./waves.ts";
import type { Played, WavePlan } from "./waves.ts";

export interface PlayedStep {
  /** All of them, in the order of their tasks. */
  readonly episodes: readonly Episode[];
  /** Those that the update is made from: all, except where the algorithm samples dynamically. */
  readonly kept: readonly Episode[];
  readonly waves: number;
  /** Sampled by all roles. */
  readonly sampledTokens: number;
}

/** @param sampledBefore tokens sampled in the steps before this one of the stage */
export async function playStep(
  session: Session,
  stageStep: number,
  sampledBefore: number,
): Promise<PlayedStep> {
  const { dropUniform } = session.algorithm.selection;
  const plan = planOf(session, stageStep, sampledBefore);
  const episodes: Episode[] = [];
  const kept: Episode[] = [];
  let [waves, tokens] = [0, 0];
  for (;;) {
    const played: Played = { waves, tasks: episodes.length, kept: kept.length, tokens };
    const tasks = nextWave(plan, played);
    if (tasks === 0) return { episodes, kept, waves, sampledTokens: tokens };
    const wave = await playWave(session, stageStep, episodes.length, tasks);
    waves += 1;
    episodes.push(...wave);
    kept.push(...(dropUniform ? wave.filter((episode) => teaches(episode, session.algorithm)) : wave));
    tokens += wave.reduce((sum, episode) => sum + sampledTokens(episode), 0);
  }
}

/** Whole tasks overshoot; what one step sampled too much, the next ones sample less, so that runs end up level. */
function planOf({ recipe, algorithm }: Session, stageStep: number, sampledBefore: number): WavePlan {
  const { tasksPerStep, tokensPerStep } = recipe.train;
  const { dropUniform, refills } = algorithm.selection;
  const tokens = tokensPerStep === undefined ? undefined : stageStep * tokensPerStep - sampledBefore;
  return { tasksPerStep, tokens, refills: dropUniform ? refills : 0 };
}

/** Tasks are numbered through a step, so that a task is the same whichever wave it falls into. */
function playWave(session: Session, stageStep: number, first: number, tasks: number): Promise<Episode[]> {
  const { environment, root } = session;
  const starts = Array.from({ length: tasks }, (_, index) => {
    const path = ["train", stageStep, first + index];
    return { path, task: environment.task("train", keyAt(root, ...path, "task")) };
  });
  return growEpisodes(trainingSetting(session), root, starts);
}

function trainingSetting({
  recipe,
  environment,
  engine,
  policies,
  teams,
  algorithm,
  cancel,
}: Session): RolloutSetting {
  const { temperature, topK, topP } = recipe.train;
  return {
    environment,
    team: teams[0].team,
    engine,
    policies,
    scheme: algorithm.sampling,
    score: algorithm.score,
    sampling: { temperature, topK, topP },
    ...(cancel === undefined ? {} : { signal: cancel }),
  };
}

/** Of all roles, frozen ones too. A completion that is part of several joint actions was sampled once. */
export function sampledTokens({ root }: Pick<Episode, "root">): number {
  const completions = new Set<Action["tokens"]>();
  const visit = (node: EpisodeNode): void => {
    for (const { tokens } of node.actions) completions.add(tokens);
    node.children.forEach(visit);
  };
  visit(root);
  return [...completions].reduce((sum, tokens) => sum + tokens.length, 0);
}
