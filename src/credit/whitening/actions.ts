import type { Whitening } from "../algorithm.ts";

/** Smallest deviation, as in CoMLRL. */
const leastDeviation = 1e-6;

/**
 * Â = (A − mean) / max(σ, 1e-6) over the policy's actions, each counted once; σ divides by n (CoMLRL's IAC and MAAC,
 * v1.3.2). For advantages that are the same for all tokens of an action. Deviation: over the step's whole batch of the
 * policy; CoMLRL's groups are the samples of one update.
 */
export const whitenActions: Whitening = (actions) => {
  const all = actions.flatMap((advantages) => [...advantages.subarray(0, 1)]);
  const first = all[0];
  if (all.every((value) => value === first)) return actions.map(({ length }) => new Float64Array(length));
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const variance = all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length;
  const divisor = Math.max(Math.sqrt(variance), leastDeviation);
  return actions.map((advantages) => advantages.map((value) => (value - mean) / divisor));
};
