import type { Algorithm, PlacedAction } from "./algorithm.ts";

/**
 * w_t for an action of turn t, times c where that turn earned enough to be the last (MAGRPO, arXiv 2508.04652, as CoMLRL's
 * first code, September 2025, has it: `turn_gradient_weights` and `early_termination_weight`). Deviation: where the phases of a turn are played one after the
 * other, c is of the last phase alone, after which the turn's reward is known; upstream has one phase per turn.
 */
export function turnWeight(
  { node, action }: PlacedAction,
  { turnWeights, earlyEndWeight }: Pick<Algorithm, "turnWeights" | "earlyEndWeight">,
): number {
  const weight = turnWeights?.[action.turn] ?? 1;
  const isLast = node.parent?.children.some(({ endedEarly }) => endedEarly === true) ?? false;
  return isLast ? weight * earlyEndWeight : weight;
}
