import { TroupeError } from "../../errors.ts";
import type { PlacedAction } from "../algorithm.ts";
import { lineEnd } from "../lines.ts";

/** R = the outcome's score at the end of the trajectory the action is part of; the same for all its actions (GRPO). */
export function outcomeReturn(placed: PlacedAction): number {
  const end = lineEnd(placed);
  if (end !== undefined) return end.outcome.score;
  throw new TroupeError(
    "internal",
    "an outcome return needs whole trajectories, but the sampler did not go on from an action's node; " +
      "such an algorithm samples with `keep: all`",
  );
}
