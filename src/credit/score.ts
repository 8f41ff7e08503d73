import type { Score } from "./algorithm.ts";

/** r = α·r_team + r_local (AT-GRPO, arXiv 2510.11062; α = 1 there). */
export function mixedScore(alpha: number): Score {
  return (reward) => alpha * reward.team + reward.local;
}
