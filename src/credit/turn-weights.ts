import { childrenOf, nodeOf } from "../rollout/navigate.ts";
import type { Algorithm, PlacedAction } from "./algorithm.ts";
import { phaseEnd, phaseStart } from "./calls.ts";

/**
 * w_t for an action of turn t, times c if that turn earned enough to be the last (MAGRPO, arXiv 2508.04652, as in
 * CoMLRL's first code, September 2025: `turn_gradient_weights`, `early_termination_weight`). Deviation: in a turn of
 * several phases c applies to the last one only, after which the turn's reward is known; upstream has one phase per
 * turn.
 */
export function turnWeight(
  { episode, node, action }: PlacedAction,
  { turnWeights, earlyEndWeight }: Pick<Algorithm, "turnWeights" | "earlyEndWeight">,
): number {
  const weight = turnWeights?.[action.turn] ?? 1;
  const start = phaseStart(episode, node);
  const siblings = start === null ? [] : childrenOf(episode, nodeOf(episode, start));
  const isLast = siblings.some((sibling) => phaseEnd(episode, sibling).endedEarly === true);
  return isLast ? weight * earlyEndWeight : weight;
}
