import { mean } from "../../statistics.ts";
import type { Shaping } from "../algorithm.ts";

/**
 * R′ = R + α(R − Q), Q = mean of the rewards before it on the line; the first action is left as it is (MARTI, `margin` in
 * auto_reward_alloc.py). R and Q are team rewards, in [0, 1] like MARTI's; there they are the agents' whole rewards.
 */
export function marginShaping(weight: number): Shaping {
  return (own, earlier) => (earlier.length === 0 ? own : own + weight * (own - mean(earlier)));
}
