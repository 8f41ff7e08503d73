import type { GameSplit } from "./tasks.ts";

/**
 * A quarter of all tasks is kept out of training: a quarter of these for validation, the rest for final numbers. `hash`: 32
 * well-mixed bits of what makes tasks the same, signed or not.
 */
export function splitOfHash(hash: number): GameSplit {
  if ((hash & 3) !== 0) return "train";
  return ((hash >>> 2) & 3) === 0 ? "validation" : "heldOut";
}
