import type { Whitening } from "../algorithm.ts";

/** Smallest variance, as in OpenRLHF and MARTI. */
const leastVariance = 1e-8;

/**
 * Â_t = (A_t − mean) / std over all tokens of the policy's whole batch, once (REINFORCE++, arXiv 2501.03262v9, eq. 10). The
 * variance divides by n and is at least 1e-8. Equal advantages become exactly 0. Deviation: MARTI whitens twice, the
 * first time within one data-parallel rank.
 */
export const whitenTokens: Whitening = (actions) => {
  const all = actions.flatMap((advantages) => [...advantages]);
  const first = all[0];
  if (all.every((value) => value === first)) return actions.map(({ length }) => new Float64Array(length));
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const variance = all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length;
  const divisor = Math.sqrt(Math.max(variance, leastVariance));
  return actions.map((advantages) => advantages.map((value) => (value - mean) / divisor));
};
