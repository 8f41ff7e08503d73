import type { Aggregation, Objective } from "../algorithm.ts";

/**
 * −ρ·A (PPO, arXiv 1707.06347, eq. 6). At the first update after sampling ρ = 1 and the gradient is −A·∇logp of REINFORCE
 * (Williams 1992, sec. 4). Deviation: REINFORCE, RLOO and CoMLRL have no ρ; later minibatches and epochs need it.
 */
export function policyGradient(aggregation: Aggregation): Objective {
  return { loss: { type: "importance_sampling" }, aggregation };
}
