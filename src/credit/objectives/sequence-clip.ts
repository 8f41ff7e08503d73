import type { Objective } from "../algorithm.ts";
import { ppoLoss, type Clip } from "./ppo-clip.ts";

/**
 * GSPO, arXiv 2507.18071, eq. 5 and 7: −min(sA, clip(s, 1 − low, 1 + high)·A) with s = exp(mean over the action's tokens of
 * log π − log π_old); mean over actions. Each token carries 1/|y| of its action's term, so every action weighs the same.
 * Deviation: the paper's sequence is the whole answer; here it is one action, and a team's trajectory is several of them.
 */
export function sequenceClip(clip: Clip): Objective {
  return { loss: { ...ppoLoss(clip), ratio: "sequence" }, aggregation: "sequence-mean" };
}
