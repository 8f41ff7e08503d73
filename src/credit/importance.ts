/**
 * Corrects samples of an earlier version of the policy. The update's loss compares with the proximal policy, the one
 * before the update, and each token's advantage gets the weight min(C, π_proximal / π_sampling): the decoupled objective
 * (Decoupled PPO, arXiv 2110.00641, eq. 4; AReaL, arXiv 2505.24298, sec. 5.2), with the weight truncated as in IMPALA
 * (arXiv 1802.01561, sec. 4.1: ρ̄). Like theirs the weight is per token, which is biased where an action's later tokens
 * depend on earlier ones.
 */
import type { Action } from "../rollout/episode.ts";

/** C. */
export const largestWeight = 2;

/** One per token. @param proximal log-probabilities under the proximal policy */
export function importanceWeights(
  { logprobs }: Pick<Action, "logprobs">,
  proximal: Float32Array,
): Float64Array {
  return Float64Array.from(proximal, (one, token) =>
    Math.min(largestWeight, Math.exp(one - (logprobs[token] ?? one))),
  );
}
