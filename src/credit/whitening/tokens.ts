import type { Whitening } from "../algorithm.ts";
import { normalise } from "./normalise.ts";

/** Its square is the minimum variance of OpenRLHF and MARTI. */
const leastDeviation = 1e-4;

/**
 * Â_t = (A_t − mean) / std over all tokens of the policy's whole batch, once (REINFORCE++, arXiv 2501.03262v9, eq. 10). The
 * variance divides by n and is at least 1e-8. Equal advantages become exactly 0. Deviation: MARTI whitens twice, the
 * first time within one data-parallel rank; with one rank the second time changes nothing.
 */
export const whitenTokens: Whitening = (actions) =>
  normalise(
    actions,
    actions.flatMap((advantages) => [...advantages]),
    leastDeviation,
  );
