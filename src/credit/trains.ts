import type { Action } from "../rollout/episode.ts";
import type { Algorithm } from "./algorithm.ts";

/** Whether an action can be part of the data: not a frozen role's, not empty, not masked for being cut off by its length. */
export function trains(
  { frozen, tokens, stopReason }: Action,
  { selection }: Pick<Algorithm, "selection">,
): boolean {
  const isMasked = selection.truncated === "mask" && stopReason === "length";
  return !frozen && tokens.length > 0 && !isMasked;
}
