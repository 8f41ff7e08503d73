import type { Aggregation, Objective } from "../algorithm.ts";

/** −min(ρA, clip(ρ, 1 − low, 1 + high)·A) (PPO, arXiv 1707.06347, eq. 7; low ≠ high: DAPO, arXiv 2503.14476). */
export function ppoClip(clipLow: number, clipHigh: number, aggregation: Aggregation): Objective {
  return { loss: { type: "ppo", clipLow, clipHigh }, aggregation };
}
