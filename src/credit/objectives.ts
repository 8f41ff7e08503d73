/** Objectives: the engine's loss of each token, to be minimised, and how the tokens' terms are added up. */
import type { PpoLoss } from "../engines/engine.ts";
import type { Aggregation, KlTerm, Objective } from "./algorithm.ts";

/**
 * −ρ·A (PPO, arXiv 1707.06347, eq. 6). At the first update after sampling ρ = 1 and the gradient is −A·∇logp of REINFORCE
 * (Williams 1992, sec. 4). Deviation: REINFORCE, RLOO and CoMLRL have no ρ; later minibatches and epochs need it.
 */
export function policyGradient(aggregation: Aggregation): Objective {
  return { loss: { type: "importance_sampling" }, aggregation };
}

/** Bounds of the ratio; absent ones are off. */
export interface Clip {
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip?: number | undefined;
}

/**
 * −min(ρA, clip(ρ, 1 − low, 1 + high)·A) (PPO, arXiv 1707.06347, eq. 7; low ≠ high: DAPO, arXiv 2503.14476, eq. 10).
 * Dual clip c: where A < 0 the term is bounded by c·A (arXiv 1912.09729, eq. 5).
 */
export function ppoClip(clip: Clip, aggregation: Aggregation): Objective {
  return { loss: ppoLoss(clip), aggregation };
}

function ppoLoss({ clipLow, clipHigh, dualClip }: Clip): PpoLoss {
  return { type: "ppo", clipLow, clipHigh, ...(dualClip === undefined ? {} : { dualClip }) };
}

/**
 * GSPO, arXiv 2507.18071, eq. 5 and 7: −min(sA, clip(s, 1 − low, 1 + high)·A) with s = exp(mean over the action's tokens of
 * log π − log π_old); mean over actions. Each token carries 1/|y| of its action's term, so every action weighs the same.
 * Deviation: the paper's sequence is the whole answer; here it is one action, and a team's trajectory is several of them.
 */
export function sequenceClip(clip: Clip): Objective {
  return { loss: { ...ppoLoss(clip), ratio: "sequence" }, aggregation: "sequence-mean" };
}

/** Adds β·k_t per token to the loss if the KL term belongs there (GRPO, arXiv 2402.03300, eq. 3 and 4: k3). */
export function withKl(objective: Objective, kl: KlTerm | null): Objective {
  const { loss } = objective;
  if (kl?.where !== "loss" || loss.type === "cross_entropy" || loss.type === "value") return objective;
  return { ...objective, loss: { ...loss, kl: kl.estimator } };
}

/**
 * Subtracts c·H_t per token from the loss: H_t is the exact entropy of the policy's distribution before the token (PPO,
 * arXiv 1707.06347, eq. 9: c₂·S). @param coefficient c; undefined: none
 */
export function withEntropy(objective: Objective, coefficient: number | undefined): Objective {
  const { loss } = objective;
  if (coefficient === undefined || loss.type === "cross_entropy" || loss.type === "value") return objective;
  return { ...objective, loss: { ...loss, entropy: coefficient } };
}
