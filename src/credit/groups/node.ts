import type { Grouping } from "../algorithm.ts";
import { phaseStart, replyNode } from "../calls.ts";
import { episodeKey, taskGrouping } from "./task.ts";

/**
 * g = (task, role, turn) and the node: the K actions one role sampled from one state (AT-GRPO, arXiv 2510.11062, algorithm 1,
 * g = hash(e, i, t)). Deviation: the paper's key has no node. On a greedy spine a role meets each turn in one node
 * only, so the node makes no difference there; with `keep: all` it separates trajectories, whose prompts differ.
 * Calls of tools belong to the group of the reply that they lead to.
 */
export const nodeGrouping: Grouping = {
  key: ({ episode, node, action }) =>
    JSON.stringify([episodeKey(episode), phaseStart(episode, node), action.turn, action.role]),
  unit: (placed) => replyNode(placed).id,
};

/**
 * The same groups for a tree that continues from every joint action (CoMLRL v1.3.2); the tree stays in one minibatch.
 * Its turns have equal weight (`shareOf`) only together: split up, the many groups of late turns would fill minibatches
 * of their own.
 */
export const treeGrouping: Grouping = { ...nodeGrouping, together: taskGrouping.key };
