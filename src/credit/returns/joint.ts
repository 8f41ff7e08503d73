import type { Action, EpisodeNode } from "../../rollout/episode.ts";
import type { Return, Rewards } from "../algorithm.ts";

/** What a joint action earned, as one number that its roles share. */
export type JointReward = (node: EpisodeNode, rewards: Rewards) => number;

/**
 * r_joint as the actions were paid: the mean of its roles' rewards, which they share (MAGRPO, arXiv 2508.04652: one reward for
 * the team). The mean keeps the scale of one role's reward whatever the team's size. Frozen roles count only where all
 * are frozen. Deviation: upstream's environments give one number per joint action; ours give one per seat.
 */
export const jointReward: JointReward = (node, rewards) =>
  meanOver(counted(node), (action) => rewards.of({ node, action }));

/** The penalties of a joint action: the mean of its roles', as in `jointReward`. */
export const jointExtra: JointReward = (node, rewards) => meanOver(counted(node), rewards.extra);

function counted({ actions }: EpisodeNode): readonly Action[] {
  const live = actions.filter(({ frozen }) => !frozen);
  return live.length > 0 ? live : actions;
}

/**
 * R = r_joint, nothing of what comes later (MAGRPO for one turn, arXiv 2508.04652, algorithm 1; for several turns where one
 * joint action is handed over). A completion of several joint actions (cross mode) gets their mean, see `meanOver`.
 */
export function jointReturn(reward: JointReward): Return {
  return ({ occurrences }, rewards) => meanOver(occurrences, ({ node }) => reward(node, rewards));
}

/**
 * R_j = r_joint + γ^Δ·mean over the joint actions sampled next of their R; a leaf's is r_joint (CoMLRL, the tree of
 * v1.2.6). Δ is 1 where the next joint action is in the next turn, 0 where it is in a later phase of the same one.
 * Deviation: upstream has one phase per turn, so Δ = 1 there.
 */
export function treeReturn(reward: JointReward, discount: number): Return {
  const returned = (node: EpisodeNode, rewards: Rewards): number => {
    const own = reward(node, rewards);
    if (node.children.length === 0) return own;
    const later = meanOver(node.children, (child) => returned(child, rewards));
    return own + discount ** turnsBetween(node, node.children[0] ?? node) * later;
  };
  return ({ occurrences }, rewards) => meanOver(occurrences, ({ node }) => returned(node, rewards));
}

/**
 * Cross mode: R of a completion = mean of R over the joint actions that contain it. Deviation: CoMLRL takes their sum,
 * which is the mean times G^(N − 1): the same direction, and a step whose size depends on the number of partners. The mean
 * has the scale of aligned mode.
 */
function meanOver<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0) / items.length;
}

function turnsBetween(node: EpisodeNode, next: EpisodeNode): number {
  return (next.actions[0]?.turn ?? 0) - (node.actions[0]?.turn ?? 0);
}
