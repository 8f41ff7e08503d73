import type { Return } from "../algorithm.ts";
import { withCalls } from "../calls.ts";

/**
 * R = r(s, a): the action's own reward, without later ones (AT-GRPO, arXiv 2510.11062, algorithm 1). A reply's includes
 * that of its calls, which share it.
 */
export const immediateReturn: Return = (placed, rewards) =>
  withCalls(placed)
    .map((one) => rewards.of(one))
    .reduce((sum, one) => sum + one);
