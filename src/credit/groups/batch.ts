import type { Grouping } from "../algorithm.ts";
import { episodeKey, taskGrouping } from "./task.ts";

/** g = policy: all its actions of the step, each for itself (REINFORCE with a batch baseline). */
export const batchGrouping: Grouping = {
  key: ({ action }) => action.policy,
  unit: ({ episode, node, action }) => JSON.stringify([episodeKey(episode), node.id, action.role]),
  together: taskGrouping.key,
  spans: "batch",
};
