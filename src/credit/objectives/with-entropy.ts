import type { Objective } from "../algorithm.ts";

/**
 * Subtracts c·H_t per token from the loss: H_t is the exact entropy of the policy's distribution before the token (PPO,
 * arXiv 1707.06347, eq. 9: c₂·S). @param coefficient c; undefined: none
 */
export function withEntropy(objective: Objective, coefficient: number | undefined): Objective {
  const { loss } = objective;
  if (coefficient === undefined || loss.type === "cross_entropy" || loss.type === "value") return objective;
  return { ...objective, loss: { ...loss, entropy: coefficient } };
}
