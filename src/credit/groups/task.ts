import type { Episode } from "../../rollout/episode.ts";
import type { Grouping } from "../algorithm.ts";
import { lineEnd } from "../lines.ts";

/** The whole trajectories of one task, of all roles and turns together; each trajectory counts once (GRPO, MAS-GRPO). */
export const taskGrouping: Grouping = {
  key: ({ episode }) => episodeKey(episode),
  unit: (placed) => lineEnd(placed)?.node.id ?? placed.node.id,
};

export function episodeKey(episode: Episode): string {
  return JSON.stringify(episode.path);
}
