/** The states and replies along one trajectory of an episode. */
import type { ActionLine, EpisodeView, NodeView } from "../api.ts";

/** The states from the first to the node. */
export function pathTo({ nodes }: EpisodeView, end: string): NodeView[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const path: NodeView[] = [];
  for (let at = byId.get(end); at !== undefined; at = at.parent === null ? undefined : byId.get(at.parent))
    path.unshift(at);
  return path;
}

/** What was said after the node, in order. */
export function saidAfter({ nodes, actions }: EpisodeView, from: string): ActionLine[] {
  const start = nodes.findIndex(({ id }) => id === from);
  return nodes
    .slice(start + 1)
    .filter(({ kept }) => kept)
    .flatMap((node) => node.actions.flatMap(({ action }) => actions[action] ?? []));
}
