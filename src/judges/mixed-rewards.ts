/** The reward that a verdict becomes: its score, normalised or not, mixed with the outcome. */
import type { ActionReward } from "../environments/environment.ts";
import type { Action, Episode, RewardedAction } from "../rollout/episode.ts";
import { edgesOf } from "../rollout/navigate.ts";
import { mean } from "../statistics.ts";
import type { JudgeUse } from "./judge.ts";

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
