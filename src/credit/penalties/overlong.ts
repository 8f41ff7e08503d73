import type { Overlong } from "../algorithm.ts";

/**
 * DAPO's soft over-long punishment (arXiv 2503.14476, eq. 13), at most 0 and at least −penalty:
 * 0 up to length − buffer tokens, then −penalty·(tokens − (length − buffer)) / buffer, −penalty from `length` on.
 * Deviation: the paper's penalty is 1 and is added to a reward of ±1; here rewards are in [0, 1 + α] and it is an option.
 */
export function overlongPenalty(tokens: number, { length, buffer, penalty }: Overlong): number {
  const excess = tokens - (length - buffer);
  return excess <= 0 ? 0 : -penalty * Math.min(1, excess / buffer);
}
