import type { Episode, EpisodeNode } from "../rollout/episode.ts";
import type { Occurrence, PlacedAction } from "./algorithm.ts";

/**
 * Every completion of the episode once, siblings that were not kept included, in the order of the tree (a node's
 * children first to last, each with what is below it). In cross mode a completion is part of several joint actions: the
 * first stands for it, `occurrences` has them all.
 */
export function placedActions(episode: Episode): PlacedAction[] {
  const visit = (node: EpisodeNode): PlacedAction[] => {
    const completions = Map.groupBy(
      node.children.flatMap((child) => child.actions.map((action) => ({ node: child, action }))),
      ({ action }) => `${action.sample} ${action.role}`,
    );
    const first = new Map([...completions.values()].map((all) => [all[0]?.action, all]));
    return node.children.flatMap((child) => [
      ...child.actions.flatMap((action) => placed(episode, first.get(action))),
      ...visit(child),
    ]);
  };
  return visit(episode.root);
}

function placed(episode: Episode, occurrences: readonly Occurrence[] | undefined): PlacedAction[] {
  const [first] = occurrences ?? [];
  return first === undefined ? [] : [{ episode, ...first, occurrences: occurrences ?? [] }];
}
