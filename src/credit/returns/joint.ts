import type { Episode, EpisodeNode } from "../../rollout/episode.ts";
import { childrenOf, edgesOf } from "../../rollout/navigate.ts";
import { phaseEnd, repliesOf } from "../calls.ts";
import type { Occurrence, Return, Rewards } from "../algorithm.ts";

/** What a joint action earned: one number shared by its roles. */
export type JointReward = (episode: Episode, node: EpisodeNode, rewards: Rewards) => number;

/**
 * r_joint from the actions' rewards: the mean of its roles' rewards, which they share (MAGRPO, arXiv 2508.04652: one
 * reward for the team). The mean keeps the scale of one role's reward whatever the team's size. Frozen roles count only
 * if all are frozen. Deviation: upstream's environments give one number per joint action; ours give one per seat.
 */
export const jointReward: JointReward = (episode, node, rewards) =>
  meanOver(counted(episode, node), (occurrence) => rewards.of(occurrence));

/** The penalties of a joint action: the mean over its roles, as in `jointReward`. */
export const jointExtra: JointReward = (episode, node, rewards) =>
  meanOver(counted(episode, node), ({ action }) => rewards.extra(action));

/** One action per role: its reply, if it called tools before. */
function counted(episode: Episode, node: EpisodeNode): readonly Occurrence[] {
  const edges = repliesOf(episode, node);
  const live = edges.filter(({ action }) => !action.frozen);
  return live.length > 0 ? live : edges;
}

/**
 * R = r_joint, without later rewards (MAGRPO for one turn, arXiv 2508.04652, algorithm 1; for several turns if one
 * joint action is handed over). A completion of several joint actions (cross mode) gets their mean, see `meanOver`.
 */
export function jointReturn(reward: JointReward): Return {
  return ({ occurrences }, rewards) =>
    meanOver(occurrences, ({ episode, node }) => reward(episode, phaseEnd(episode, node), rewards));
}

/**
 * R_j = r_joint + γ^Δ·mean over the joint actions sampled next of their R; a leaf's is r_joint (CoMLRL, the tree of
 * v1.2.6). Δ is 1 if the next joint action is in the next turn, 0 if it is in a later phase of the same turn.
 * Deviation: upstream has one phase per turn, so Δ = 1 there.
 */
export function treeReturn(reward: JointReward, discount: number): Return {
  const returned = (episode: Episode, node: EpisodeNode, rewards: Rewards): number => {
    const own = reward(episode, node, rewards);
    const next = childrenOf(episode, node);
    const weight = discount ** turnsBetween(episode, node, next[0] ?? node);
    if (next.length === 0 || weight === 0) return own;
    return own + weight * meanOver(next, (child) => returned(episode, phaseEnd(episode, child), rewards));
  };
  return ({ occurrences }, rewards) =>
    meanOver(occurrences, ({ episode, node }) => returned(episode, phaseEnd(episode, node), rewards));
}

/**
 * Cross mode: R of a completion = mean of R over the joint actions that contain it. Deviation: CoMLRL takes their sum,
 * which is the mean times G^(N − 1): the same direction, with a step size that depends on the number of partners. The
 * mean has the scale of aligned mode.
 */
function meanOver<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0) / items.length;
}

function turnsBetween(episode: Episode, node: EpisodeNode, next: EpisodeNode): number {
  const [before, after] = [node, next].map((one) => edgesOf(episode, one)[0]?.action.turn ?? 0);
  return (after ?? 0) - (before ?? 0);
}
