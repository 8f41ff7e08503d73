/**
 * What really changed: the outcome's score after a joint action minus that before it. The differences add up to the last
 * score minus the first, whatever the way, so that no detour, repetition or cycle earns anything. The score is the
 * potential Φ of F = γΦ(s′) − Φ(s) (Ng, Harada and Russell 1999) with γ = 1. Deviation: theirs is added to another reward, ours
 * stands alone. It is one number for the team, as the joint reward of a Dec-POMDP is.
 */
import { TroupeError } from "../errors.ts";
import type { Episode, EpisodeNode } from "../rollout/episode.ts";
import { edgesOf, parentOf } from "../rollout/navigate.ts";

/**
 * Σ γ^(turns since the first)·(score after − score before) over nodes that follow each other on a line; 0 for none.
 * With γ < 1 this is a weighted mean of the scores after each turn, minus the first score: what is reached early counts
 * more, a step back takes less than the step there gave, and the sum still never exceeds the highest score reached minus the
 * first. Errors: `internal` where a node has no score.
 */
export function progressAlong(episode: Episode, nodes: readonly EpisodeNode[], discount: number): number {
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (first === undefined || last === undefined) return 0;
  // The differences cancel; not to add them up leaves no rounding that would tell equal ways apart.
  if (discount === 1) return scoreAfter(last) - scoreBefore(episode, first);
  const since = turnOf(episode, first);
  return nodes.reduce((sum, node) => {
    const weight = discount ** (turnOf(episode, node) - since);
    return sum + weight * (scoreAfter(node) - scoreBefore(episode, node));
  }, 0);
}

function scoreAfter({ id, score }: EpisodeNode): number {
  if (score !== undefined) return score;
  throw new TroupeError(
    "internal",
    `progress needs the score of every node, but node ${id || "root"} has none`,
  );
}

function scoreBefore(episode: Episode, node: EpisodeNode): number {
  const parent = parentOf(episode, node);
  return parent === null ? 0 : scoreAfter(parent);
}

/** Of the joint action that led to the node. */
function turnOf(episode: Episode, node: EpisodeNode): number {
  return edgesOf(episode, node)[0]?.action.turn ?? 0;
}
