import type { Grouping } from "../algorithm.ts";
import { replyNode } from "../calls.ts";
import { episodeKey, taskGrouping } from "./task.ts";

/**
 * g = policy: all its actions of the step, individually (REINFORCE with a baseline, Williams 1992, sec. 4). Deviation:
 * his
 * baseline does not depend on the action; a mean over this group contains the action's own return, a bias of 1/n.
 */
export const batchGrouping: Grouping = {
  key: ({ action }) => action.policy,
  unit: (placed) => JSON.stringify([episodeKey(placed.episode), replyNode(placed).id, placed.action.role]),
  together: taskGrouping.key,
  spans: "batch",
};
