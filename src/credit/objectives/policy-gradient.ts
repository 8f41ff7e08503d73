import type { Aggregation, Objective } from "../algorithm.ts";

/** −ρ·A: at the first update after sampling ρ = 1 and the gradient is REINFORCE's −A·∇logp. */
export function policyGradient(aggregation: Aggregation): Objective {
  return { loss: { type: "importance_sampling" }, aggregation };
}
