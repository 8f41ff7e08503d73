import type { EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";
import type { PlacedAction } from "./algorithm.ts";

/** The end of the kept line that the action is part of (the first one, where lines part below it). */
export function lineEnd({ episode, node }: PlacedAction): EpisodeEnd | undefined {
  return episode.ends.find((end) => isAtOrBelow(end.node, node));
}

function isAtOrBelow(node: EpisodeNode, ancestor: EpisodeNode): boolean {
  return node.id === ancestor.id || node.id.startsWith(`${ancestor.id}.`);
}
