/** Turns rewards into credit: one advantage for each action of the episodes. */
import type { Episode, EpisodeNode } from "../rollout/episode.ts";
import type { Algorithm, CreditedAction, PlacedAction } from "./algorithm.ts";

/**
 * Every action of every node, siblings that were not kept included, in the order of the trees (a node's children first
 * to last, each with what is below it). A frozen role's actions enter no group and get advantage 0.
 */
export function credit(episodes: readonly Episode[], algorithm: Algorithm): CreditedAction[] {
  const returned = episodes.flatMap(placedActions).map((placed) => ({
    ...placed,
    group: algorithm.grouping.key(placed),
    return: algorithm.returns(placed),
  }));
  const trained = returned.filter(({ action }) => !action.frozen);
  const advantages = new Map<PlacedAction, number>();
  for (const group of Map.groupBy(trained, (placed) => placed.group).values()) {
    const byUnit = unitAdvantages(group, algorithm);
    for (const placed of group) advantages.set(placed, byUnit.get(algorithm.grouping.unit(placed)) ?? 0);
  }
  return returned.map((placed) => ({ ...placed, advantage: advantages.get(placed) ?? 0 }));
}

function placedActions(episode: Episode): PlacedAction[] {
  const visit = (node: EpisodeNode): PlacedAction[] => [
    ...node.actions.map((action) => ({ episode, node, action })),
    ...node.children.flatMap(visit),
  ];
  return visit(episode.root);
}

/** A = (R − b) / F over the group's units. */
function unitAdvantages(
  group: readonly (PlacedAction & { readonly return: number })[],
  { grouping, baseline, scale }: Algorithm,
): Map<string, number> {
  const units = new Map(group.map((placed) => [grouping.unit(placed), placed.return]));
  const returns = [...units.values()];
  const baselines = baseline(returns);
  const divisor = scale(returns);
  return new Map(
    [...units].map(([unit, value], index) => [unit, (value - (baselines[index] ?? 0)) / divisor]),
  );
}
