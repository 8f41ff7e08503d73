/**
 * Rewards from a judge's scores: mixed with the outcome, and normalised if the recipe asks for it.
 *
 * A score becomes (1 − w)·score + w·outcome. Normalisation by role, type of task, or both cancels differences in
 * strictness between them: s′ = μ + σ·(s − μ_k) / σ_k, with μ and σ of all scores and μ_k and σ_k of the action's kind,
 * so that rewards keep their scale. The statistics cover the step's own scores and, with less weight, those of earlier
 * steps; they change once per step and are part of its checkpoint.
 */
import type { ActionReward } from "../environments/environment.ts";
import type { Action, Episode, RewardedAction } from "../rollout/episode.ts";
import { edgesOf } from "../rollout/navigate.ts";
import { mean } from "../statistics.ts";
import { scoresIn, type Normalisation, type JudgeUse } from "./judge.ts";

/** A judge's score as it is used: by default unchanged. */
export type Scaling = (score: number, action: Action) => number;

/**
 * The episode with the rewards of its judged actions: (1 − w)·score + w·outcome. The outcome of an action is the mean
 * score of the ends of the trajectories that continue from it; an action without one, because the episode is still
 * growing or did not continue from it, has no reward if w > 0.
 */
export function mixedRewards(episode: Episode, use: JudgeUse, scaled: Scaling = (score) => score): Episode {
  const { outcomeWeight: weight = 0 } = use;
  const outcomes = weight === 0 ? new Map<string, number>() : outcomesOf(episode);
  const mixed = (score: number, node: string): number | null => {
    if (weight === 0) return score;
    const outcome = outcomes.get(node);
    return outcome === undefined ? null : (1 - weight) * score + weight * outcome;
  };
  const nodes = episode.nodes.map((node) => {
    if (node.actions.every(({ verdict }) => verdict === undefined)) return node;
    const occurrences = edgesOf(episode, node);
    const actions = node.actions.map((edge, index): RewardedAction => {
      const { action } = occurrences[index] ?? {};
      if (edge.verdict === undefined || !("score" in edge.verdict) || action === undefined) return edge;
      const value = mixed(scaled(edge.verdict.score, action), node.id);
      return { ...edge, reward: value === null ? null : rewardOf(value, use) };
    });
    return { ...node, actions };
  });
  return { ...episode, nodes };
}

/** By node: the mean score of the ends at or below it. */
export function outcomesOf({ nodes, ends }: Pick<Episode, "nodes" | "ends">): ReadonlyMap<string, number> {
  const parents = new Map(nodes.map(({ id, parent }) => [id, parent]));
  const scores = new Map<string, number[]>();
  for (const { node, outcome } of ends) {
    for (let at: string | null = node; at !== null; at = parents.get(at) ?? null) {
      const below = scores.get(at) ?? [];
      below.push(outcome.score);
      scores.set(at, below);
    }
  }
  return new Map([...scores].map(([id, below]) => [id, mean(below)]));
}

function rewardOf(value: number, { as }: JudgeUse): ActionReward {
  return as === "team"
    ? { team: value, local: 0, parts: {} }
    : { team: 0, local: value, parts: { judge: value } };
}

/** Weight, mean, and sum of squared differences from the mean. */
export interface ScoreMoments {
  readonly weight: number;
  readonly mean: number;
  readonly squares: number;
}

/** By kind: role, type of task, or both. */
export type ScoreStatistics = Readonly<Record<string, ScoreMoments>>;

/** Each step counts this much less than the next: the statistics remember about ten steps. */
const decay = 0.9;

/** Scores of a smaller deviation count as equal. */
const leastDeviation = 1e-6;

export interface Kinds {
  readonly by: Normalisation;
  /** Of the episode's task. */
  readonly typeOf: (episode: Episode) => string;
}

/** The statistics after a step with these episodes. Failed verdicts do not count. */
export function withScores(
  before: ScoreStatistics,
  episodes: readonly Episode[],
  kinds: Kinds,
): ScoreStatistics {
  const found = new Map(
    Object.entries(before).map(([kind, { weight, ...rest }]) => [
      kind,
      { ...rest, weight: decay * weight, squares: decay * rest.squares },
    ]),
  );
  for (const episode of episodes)
    for (const { action, score } of scoresIn(episode)) {
      const kind = kindOf(kinds, episode, action);
      found.set(kind, joined(found.get(kind) ?? none, { weight: 1, mean: score, squares: 0 }));
    }
  return Object.fromEntries(found);
}

/** Scores of a kind that has one, or only equal ones, become the mean of all: they say nothing. */
export function scalingBy(statistics: ScoreStatistics, episode: Episode, kinds: Kinds): Scaling {
  const all = Object.values(statistics).reduce(joined, none);
  return (score, action) => {
    const own = statistics[kindOf(kinds, episode, action)] ?? none;
    const deviation = deviationOf(own);
    if (deviation <= leastDeviation) return all.mean;
    return all.mean + (deviationOf(all) * (score - own.mean)) / deviation;
  };
}

const none: ScoreMoments = { weight: 0, mean: 0, squares: 0 };

function deviationOf({ weight, squares }: ScoreMoments): number {
  return weight === 0 ? 0 : Math.sqrt(squares / weight);
}

/** Chan, Golub and LeVeque 1983, The American Statistician 37, eq. 2.1. */
function joined(one: ScoreMoments, other: ScoreMoments): ScoreMoments {
  const weight = one.weight + other.weight;
  if (weight === 0) return none;
  const difference = other.mean - one.mean;
  return {
    weight,
    mean: one.mean + (difference * other.weight) / weight,
    squares: one.squares + other.squares + (difference ** 2 * one.weight * other.weight) / weight,
  };
}

function kindOf({ by, typeOf }: Kinds, episode: Episode, { role }: Action): string {
  const type = typeOf(episode);
  const parts = { role: [role], "task type": [type], both: [role, type] };
  return JSON.stringify(parts[by]);
}
