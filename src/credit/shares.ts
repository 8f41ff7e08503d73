import type { SamplingScheme } from "../rollout/episode.ts";
import type { PlacedAction } from "./algorithm.ts";
import { childrenOf, lineTo, parentOf } from "../rollout/navigate.ts";

/**
 * What an action counts for in the means of the loss. A tree that goes on from every joint action has G times as many of
 * them at each next decision; each counts for 1/G of one before it, so that all decisions of an episode weigh the same, as
 * in the expectation over episodes whose gradient is wanted (CoMLRL takes the mean within a turn, and steps turn by turn).
 * 1 in all other schemes: a decision is sampled equally often wherever it stands.
 */
export function shareOf({ episode, node }: PlacedAction, { keep, branch }: SamplingScheme): number {
  if (keep !== "all" || branch.inner === 1) return 1;
  return lineTo(episode, node)
    .slice(0, -1)
    .reduce((share, one) => {
      const parent = parentOf(episode, one);
      return parent === null ? share : share / childrenOf(episode, parent).length;
    }, 1);
}
