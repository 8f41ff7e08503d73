/** The scores that a judge has given in an episode. */
import type { Action, Episode } from "../rollout/episode.ts";
import { edgesOf } from "../rollout/navigate.ts";

export interface ScoredAction {
  readonly action: Action;
  /** Id of the node that its joint action led to. */
  readonly node: string;
  readonly score: number;
}

/** Failed verdicts have none. */
export function scoresIn(episode: Episode): readonly ScoredAction[] {
  return episode.nodes.flatMap((node) => {
    const occurrences = edgesOf(episode, node);
    return node.actions.flatMap(({ verdict }, index) => {
      const { action } = occurrences[index] ?? {};
      if (verdict === undefined || !("score" in verdict) || action === undefined) return [];
      return [{ action, node: node.id, score: verdict.score }];
    });
  });
}
