/** Weights: factors of advantages, and of actions in the means of the loss. They have no unit, and most are 1. */
import type { Action, SamplingScheme } from "../rollout/episode.ts";
import { childrenOf, nodeOf, parentOf, pathTo } from "../rollout/navigate.ts";
import type { Algorithm, PlacedAction } from "./algorithm.ts";
import { phaseEnd, phaseStart } from "./places.ts";

/**
 * w_t for an action of turn t, times c if that turn earned enough to be the last (MAGRPO, arXiv 2508.04652, as in
 * CoMLRL's first code, September 2025: `turn_gradient_weights`, `early_termination_weight`). Deviation: in a turn of
 * several phases c applies to the last one only, after which the turn's reward is known; upstream has one phase per
 * turn.
 */
export function turnWeight(
  { episode, node, action }: PlacedAction,
  { turnWeights, earlyEndWeight }: Pick<Algorithm, "turnWeights" | "earlyEndWeight">,
): number {
  const weight = turnWeights?.[action.turn] ?? 1;
  if (earlyEndWeight === 1) return weight;
  const start = phaseStart(episode, node);
  const siblings = start === null ? [] : childrenOf(episode, nodeOf(episode, start));
  const isLast = siblings.some((sibling) => phaseEnd(episode, sibling).endedEarly === true);
  return isLast ? weight * earlyEndWeight : weight;
}

/**
 * An action's weight in the means of the loss. A tree that continues from every joint action has G times as many at
 * each next decision; each counts 1/G of one before it, so that all decisions of an episode have equal weight, as in
 * the expectation over episodes whose gradient is wanted (CoMLRL takes the mean within a turn, and steps turn by turn).
 * 1 in all other schemes: every decision is sampled equally often.
 */
export function treeWeight(
  { episode, node }: PlacedAction,
  { keep, branch, continued }: SamplingScheme,
): number {
  if (keep !== "all" || branch.inner === 1 || continued === "once") return 1;
  return pathTo(episode, node)
    .slice(0, -1)
    .reduce((weight, one) => {
      const parent = parentOf(episode, one);
      return parent === null ? weight : weight / childrenOf(episode, parent).length;
    }, 1);
}

/** C, where importance weights are truncated (IMPALA, arXiv 1802.01561, sec. 4.1: ρ̄). */
export const largestWeight = 2;

/**
 * Corrects samples of an earlier version of the policy. The update's loss compares with the proximal policy, the one
 * before the update, and each token's advantage gets the weight min(C, π_proximal / π_sampling): the decoupled objective
 * (Decoupled PPO, arXiv 2110.00641, eq. 4; AReaL, arXiv 2505.24298, sec. 5.2), with the weight truncated as in IMPALA
 * (arXiv 1802.01561, sec. 4.1: ρ̄). Like theirs the weight is per token, which is biased where an action's later tokens
 * depend on earlier ones. One weight per token. @param proximal log-probabilities under the proximal policy, one per token
 */
export function importanceWeights(
  { logprobs }: Pick<Action, "logprobs">,
  proximal: Float32Array,
): Float64Array {
  return Float64Array.from(proximal, (one, token) =>
    Math.min(largestWeight, Math.exp(one - (logprobs[token] ?? one))),
  );
}
