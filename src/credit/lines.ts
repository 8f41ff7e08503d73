import type { EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";
import type { Occurrence, PlacedAction } from "./algorithm.ts";

/** The end of the kept line that the action is part of (the first one, where lines part below it). */
export function lineEnd({ episode, node }: PlacedAction): EpisodeEnd | undefined {
  return episode.ends.find((end) => isAtOrBelow(end.node, node));
}

/** The nodes that were acted to on the way to this one, in order, itself included; empty for the root. */
export function lineTo(node: EpisodeNode): EpisodeNode[] {
  return node.parent === null ? [] : [...lineTo(node.parent), node];
}

/** Every action on the way to this node, in order, with the node it led to. */
export function actionsTo(node: EpisodeNode): Occurrence[] {
  return lineTo(node).flatMap((one) => one.actions.map((action) => ({ node: one, action })));
}

/** The action and the later ones of its role on its line, in order. */
export function roleLine(placed: PlacedAction): Occurrence[] {
  const end = lineEnd(placed)?.node ?? placed.node;
  return actionsTo(end).filter(
    ({ node, action }) => action.role === placed.action.role && isAtOrBelow(node, placed.node),
  );
}

function isAtOrBelow(node: EpisodeNode, ancestor: EpisodeNode): boolean {
  return node.id === ancestor.id || node.id.startsWith(`${ancestor.id}.`);
}
