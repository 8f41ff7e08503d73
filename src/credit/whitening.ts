/**
 * Whitening: normalises the advantages of one policy's whole batch of a step, given and returned as one array per action
 * with one number per token. The result has no unit.
 */
import { mean, standardDeviation } from "../statistics.ts";
import type { Whitening } from "./algorithm.ts";

/** Smallest deviations: the square of the first is the minimum variance of OpenRLHF and MARTI, the second is CoMLRL's. */
const leastOfTokens = 1e-4;
const leastOfActions = 1e-6;

/**
 * Â_t = (A_t − mean) / std over all tokens of the policy's whole batch, once (REINFORCE++, arXiv 2501.03262v9, eq. 10). The
 * variance divides by n and is at least 1e-8. Equal advantages become exactly 0. Deviation: MARTI whitens twice, the
 * first time within one data-parallel rank; with one rank the second time changes nothing.
 */
export const whitenTokens: Whitening = (actions) =>
  normalise(
    actions,
    actions.flatMap((advantages) => [...advantages]),
    leastOfTokens,
  );

/**
 * Â = (A − mean) / max(σ, 1e-6) over the policy's actions, each counted once; σ divides by n (IAC and MAAC, arXiv
 * 2601.21972, as in CoMLRL v1.3.2). For advantages that are equal for all tokens of an action. Deviation: over the
 * policy's whole batch of the step; CoMLRL's groups are the samples of one update.
 */
export const whitenActions: Whitening = (actions) =>
  normalise(
    actions,
    actions.flatMap((advantages) => [...advantages.subarray(0, 1)]),
    leastOfActions,
  );

/**
 * (A − mean) / max(σ, least) of each advantage, with mean and σ of `counted`; σ divides by n. If those are all equal,
 * every advantage becomes exactly 0.
 */
function normalise(
  actions: readonly Float64Array[],
  counted: readonly number[],
  leastDeviation: number,
): readonly Float64Array[] {
  if (counted.every((value) => value === counted[0]))
    return actions.map(({ length }) => new Float64Array(length));
  const centre = mean(counted);
  const divisor = Math.max(standardDeviation(counted), leastDeviation);
  return actions.map((advantages) => advantages.map((value) => (value - centre) / divisor));
}
