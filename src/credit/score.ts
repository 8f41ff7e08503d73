import type { Score } from "./algorithm.ts";

/** r = α·r_team + r_local (AT-GRPO, arXiv 2510.11062, its mixed reward, with α = 1; known to us without a number). */
export function mixedScore(alpha: number): Score {
  return (reward) => alpha * reward.team + reward.local;
}
