import { mean } from "../../statistics.ts";
import type { Shaping } from "../algorithm.ts";

/**
 * R′ = R + α(R − Q), Q = mean of the rewards before it on the line; the first action is left as it is (MARTI, `margin` in
 * auto_reward_alloc.py, after MAPoRL, arXiv 2502.18439; read in the code). Deviations: R and Q are team rewards, in [0, 1]
 * like MARTI's, where they are the agents' whole rewards; Q takes earlier phases of the same turn too, MARTI's earlier turns.
 */
export function marginShaping(weight: number): Shaping {
  return (own, earlier) => (earlier.length === 0 ? own : own + weight * (own - mean(earlier)));
}
