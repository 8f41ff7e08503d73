/** Groups: which actions are compared with each other, what counts as one sample, and what stays in one minibatch. */
import type { Grouping } from "./algorithm.ts";
import { phaseStart, replyNode, trajectoryEnd } from "./places.ts";

/**
 * g = task: its whole trajectories, all roles and turns together (GRPO, arXiv 2402.03300, sec. 4.1.2: the outputs of one
 * question). Deviation: there an output is one action; here a trajectory contains several, and counts once.
 */
export const taskGrouping: Grouping = {
  key: ({ episode }) => episode.id,
  sampleKey: (placed) => trajectoryEnd(placed)?.node ?? placed.node.id,
};

/**
 * g = (task, role): the whole trajectories of one task, role by role; each trajectory counts once (MAS-GRPO, the
 * trajectory-level baseline of AT-GRPO, arXiv 2510.11062; the paper gives no equation). Deviation: its code,
 * PettingLLMs, mixes the roles in one group and keeps the last turn of each trajectory only.
 */
export const taskRoleGrouping: Grouping = {
  key: ({ episode, action }) => JSON.stringify([episode.id, action.role]),
  sampleKey: taskGrouping.sampleKey,
  minibatchKey: taskGrouping.key,
};

/**
 * g = (task, role), where each action counts, not each trajectory: a trajectory in which the role acts often weighs more
 * (Dr. MAS, arXiv 2602.08847; its code, `compute_grpo_outcome_advantage` with `group_by_agent_id`). Deviation: there, the
 * only action of a group keeps its reward as its advantage; here, nothing is compared with it, and it gets 0.
 */
export const taskRoleActionGrouping: Grouping = {
  key: taskRoleGrouping.key,
  sampleKey: (placed) => replyNode(placed).id,
  minibatchKey: taskGrouping.key,
};

/**
 * g = (task, role, turn) and the node: the K actions one role sampled from one state (AT-GRPO, arXiv 2510.11062, algorithm 1,
 * g = hash(e, i, t)). Deviation: the paper's key has no node. On a greedy spine a role meets each turn in one node
 * only, so the node makes no difference there; with `keep: all` it separates trajectories, whose prompts differ.
 * Calls of tools belong to the group of the reply that they lead to.
 */
export const nodeGrouping: Grouping = {
  key: ({ episode, node, action }) =>
    JSON.stringify([episode.id, phaseStart(episode, node), action.turn, action.role]),
  sampleKey: (placed) => replyNode(placed).id,
};

/**
 * The same groups for a tree that continues from every joint action (CoMLRL v1.3.2); the tree stays in one minibatch.
 * Its turns have equal weight (`treeWeight`) only together: split up, the many groups of late turns would fill minibatches
 * of their own.
 */
export const treeGrouping: Grouping = { ...nodeGrouping, minibatchKey: taskGrouping.key };

/**
 * g = (task, turn, role): the whole trajectories of one task, turn by turn (MAGRPO, arXiv 2508.04652, algorithm 1: the G
 * joint actions of a turn, each with a history of its own). A shorter trajectory is in the groups of its turns only.
 */
export const turnGrouping: Grouping = {
  key: ({ episode, action }) => JSON.stringify([episode.id, action.turn, action.role]),
  sampleKey: taskGrouping.sampleKey,
  minibatchKey: taskGrouping.key,
};

/**
 * g = policy: all its actions of the step, individually (REINFORCE with a baseline, Williams 1992, sec. 4). Deviation: his
 * baseline does not depend on the action; a mean over this group contains the action's own return, a bias of 1/n.
 */
export const batchGrouping: Grouping = {
  key: ({ action }) => action.policy,
  sampleKey: (placed) => JSON.stringify([placed.episode.id, replyNode(placed).id, placed.action.role]),
  minibatchKey: taskGrouping.key,
  spans: "batch",
};

/**
 * g = role, over all steps of a run: its trajectories one after the other, each of which counts once (SPIRAL, arXiv 2506.24119,
 * whose baseline is of a game and a role; a run has one game). Deviation: in its code every actor process has baselines of its own.
 */
export const runRoleGrouping: Grouping = {
  key: ({ action }) => action.role,
  sampleKey: (placed) => JSON.stringify([placed.episode.id, taskGrouping.sampleKey(placed)]),
  minibatchKey: taskGrouping.key,
  spans: "run",
};

/** The same where each action has a return of its own and counts (SPIRAL, arXiv 2506.24119, has one return per trajectory). */
export const runRoleActionGrouping: Grouping = { ...runRoleGrouping, sampleKey: batchGrouping.sampleKey };
