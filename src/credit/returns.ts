/**
 * Returns: what each action is credited with, one number in units of the reward; the same for all actions of a sample.
 *
 * | made of                 | the action's own               | and later ones   | the whole trajectory's           |
 * | ----------------------- | ------------------------------ | ---------------- | -------------------------------- |
 * | rewards                 | `immediateReturn`              | `turnsReturn`    | `trajectoryReturn`, `teamReturn` |
 * | the episode's score     |                                | `terminalReturn` | `outcomeReturn`, `withOutcome`   |
 * | a joint action's reward | `jointReturn`                  | `treeReturn`     |                                  |
 * | a round's reward        |                                | `roundsReturn`   |                                  |
 * | changes of the score    | `roleProgress`, `teamProgress` | `laterProgress`  | `trajectoryProgress`             |
 */
import { TroupeError } from "../errors.ts";
import type { Episode, EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";
import { childrenOf, edgesOf, nodeOf, parentOf, pathTo } from "../rollout/navigate.ts";
import { sum } from "../statistics.ts";
import type { Occurrence, PlacedAction, Return, Rewards } from "./algorithm.ts";
import { actionsTo, phaseEnd, repliesOf, roleTrajectory, trajectoryEnd, withCalls } from "./places.ts";

/**
 * R = r(s, a): the action's own reward, without later ones (AT-GRPO, arXiv 2510.11062, algorithm 1). A reply's includes
 * that of its calls, which share it.
 */
export const immediateReturn: Return = (placed, rewards) =>
  withCalls(placed)
    .map((one) => rewards.of(one))
    .reduce((total, one) => total + one);

/**
 * R_t = Σ_{t′ ≥ t} γ^(t′ − t)·r_{t′}: the action's reward and the later ones of its own role on its trajectory,
 * discounted once per turn (Sutton and Barto, 2nd ed., eq. 3.8). Rewards of other roles are not included, as in a
 * Markov game.
 */
export function turnsReturn(discount: number): Return {
  return (placed, rewards) =>
    roleTrajectory(placed).reduce((total, later) => {
      const weight = discount ** (later.action.turn - placed.action.turn);
      return weight === 0 ? total : total + weight * rewards.of(later);
    }, 0);
}

/**
 * R = Σ_t γ^t·r_t over all of the role's actions on the trajectory, t counted from the episode's first turn: the same
 * for each (the return of the first turn, Sutton and Barto, 2nd ed., eq. 3.8). Rewards of other roles, and of actions that
 * are masked, are not included.
 */
export function trajectoryReturn(discount: number): Return {
  return (placed, rewards) =>
    trajectoryOf(placed)
      .filter(({ action }) => action.role === placed.action.role && action.masked === undefined)
      .reduce((total, one) => {
        const weight = discount ** one.action.turn;
        return weight === 0 ? total : total + weight * rewards.of(one);
      }, 0);
}

/**
 * R = Σ r over the trained roles' actions on the trajectory (Sutton and Barto, 2nd ed., eq. 3.8 with γ = 1, of the whole
 * team), instead of the outcome's score: the same for all of them, and missing if one reward is. With it, algorithms that
 * compare trajectories can learn from a judge.
 */
export const teamReturn: Return = (placed, rewards) =>
  sum(
    trajectoryOf(placed)
      .filter(({ action }) => !action.frozen)
      .map(rewards.of),
  );

/**
 * R = the outcome's score at the end of the action's trajectory, plus the penalties of all actions on it; the same for
 * all its actions (GRPO, arXiv 2402.03300, sec. 4.1.2, where an output is one action). Deviation: the return is the
 * team's, so all roles share one role's penalties for length or KL; PettingLLMs keeps the actions of the last turn
 * only.
 */
export const outcomeReturn: Return = (placed, rewards) =>
  trajectoryOf(placed).reduce(
    (total, { action }) => total + rewards.extra(action),
    endOf(placed).outcome.score,
  );

/**
 * R = the episode's score for the role's last action on its trajectory, 0 before it; plus the action's penalties (PPO
 * for language models, arXiv 2203.02155, eq. 2: one reward for the whole answer). Deviation: a role's answer is several
 * actions.
 */
export const terminalReturn: Return = (placed, rewards) => {
  const isLast = roleTrajectory(placed).length === 1;
  return (isLast ? endOf(placed).outcome.score : 0) + rewards.extra(placed.action);
};

/**
 * R′ = R + β·score at the episode's end (MARTI's code, the `_with_outcome` modes of auto_reward_alloc.py; not in a
 * paper). Deviation: MARTI uses the last turn's reward instead of the score.
 */
export function withOutcome(weight: number, returns: Return): Return {
  if (weight === 0) return returns;
  return (placed, rewards) => returns(placed, rewards) + weight * endOf(placed).outcome.score;
}

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
const jointExtra: JointReward = (episode, node, rewards) =>
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
    const weight = discount ** (turnOf(episode, next[0] ?? node) - turnOf(episode, node));
    if (next.length === 0 || weight === 0) return own;
    return own + weight * meanOver(next, (child) => returned(episode, phaseEnd(episode, child), rewards));
  };
  return ({ occurrences }, rewards) =>
    meanOver(occurrences, ({ episode, node }) => returned(episode, phaseEnd(episode, node), rewards));
}

/** What the roles earned together in a round: one number that they share. @param nodes of the round, in order */
type RoundReward = (episode: Episode, nodes: readonly EpisodeNode[], rewards: Rewards) => number;

/** r_round from the rewards of its replies: their mean (MAGRPO, arXiv 2508.04652: one reward for the team). */
export const roundReward: RoundReward = (episode, nodes, rewards) =>
  meanOver(repliesIn(episode, nodes), (occurrence) => rewards.of(occurrence));

/** r_round = the round's change of the score (Ng, Harada and Russell 1999), plus the mean of its replies' penalties. */
export const progressRoundReward: RoundReward = (episode, nodes, rewards) =>
  progressAlong(episode, nodes, 1) +
  meanOver(repliesIn(episode, nodes), ({ action }) => rewards.extra(action));

/** Of the trained roles. */
function repliesIn(episode: Episode, nodes: readonly EpisodeNode[]): readonly Occurrence[] {
  return nodes
    .filter(({ pending }) => pending === undefined)
    .flatMap((node) => repliesOf(episode, node))
    .filter(({ action }) => !action.frozen);
}

/**
 * R_t = Σ_{l ≥ t} γ^(l − t)·r_l over the rounds of the action's own trajectory (MAGRPO, arXiv 2508.04652, algorithm 1,
 * whose γ is 1: the joint rewards from the turn on). A round is a turn of the trained roles, with what frozen roles answer
 * before the next one. Deviation: a round may have several phases, in which roles act one after another.
 */
export function roundsReturn(reward: RoundReward, discount: number): Return {
  return ({ episode, ...placed }, rewards) => {
    const rounds = roundsOf(episode, wholePath({ episode, ...placed }));
    const own = rounds.findIndex((nodes) => nodes.includes(placed.node));
    return rounds.slice(Math.max(0, own)).reduce((total, nodes, ahead) => {
      const weight = discount ** ahead;
      return weight === 0 ? total : total + weight * reward(episode, nodes, rewards);
    }, 0);
  };
}

/** Without what frozen roles did before the first. */
function roundsOf(episode: Episode, path: readonly EpisodeNode[]): readonly (readonly EpisodeNode[])[] {
  const rounds: EpisodeNode[][] = [];
  let turn = -1;
  for (const node of path) {
    const trained = edgesOf(episode, node).find(({ action }) => !action.frozen)?.action;
    if (trained !== undefined && trained.turn !== turn) rounds.push([]);
    turn = trained?.turn ?? turn;
    rounds.at(-1)?.push(node);
  }
  return rounds;
}

/**
 * Cross mode: R of a completion = mean of R over the joint actions that contain it. Deviation: CoMLRL takes their sum,
 * which is the mean times G^(N − 1): the same direction, with a step size that depends on the number of partners. The
 * mean has the scale of aligned mode.
 */
function meanOver<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0) / items.length;
}

/**
 * Progress: the outcome's score after a joint action minus that before it. The differences add up to the last score
 * minus the first on any path, so that no detour, repetition or cycle earns anything. The score is the potential Φ of F
 * = γΦ(s′) − Φ(s) (Ng, Harada and Russell 1999) with γ = 1. Deviation: theirs is added to another reward, ours is the
 * only one. It is one number for the team, like the joint reward of a Dec-POMDP. No published system that we follow has it.
 *
 * Here: Σ γ^(turns since the first)·(score after − score before) over consecutive nodes of a trajectory; 0 for none. With γ <
 * 1 this is a weighted mean of the scores after each turn, minus the first score: early progress counts more, a step
 * back costs less than the step forward gained, and the sum still never exceeds the highest score reached minus the
 * first. @throws TroupeError `internal` if a node has no score
 */
export function progressAlong(episode: Episode, nodes: readonly EpisodeNode[], discount: number): number {
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (first === undefined || last === undefined) return 0;
  // Without discount the sum telescopes; taking only its ends avoids rounding that would distinguish equal
  // trajectories.
  if (discount === 1) return scoreAfter(last) - scoreBefore(episode, first);
  const since = turnOf(episode, first);
  let turn = since;
  return nodes.reduce((total, node) => {
    // A program counts the turns of each role: one that is asked for the first time is not in an earlier turn.
    turn = Math.max(turn, turnOf(episode, node));
    const weight = discount ** (turn - since);
    return total + weight * (scoreAfter(node) - scoreBefore(episode, node));
  }, 0);
}

/** The score of the state that the joint action led to. */
function scoreAfter({ id, score }: EpisodeNode): number {
  if (score !== undefined) return score;
  throw new TroupeError(
    "internal",
    `progress needs the score of every node, but node ${id || "root"} has none`,
  );
}

function scoreBefore(episode: Episode, node: EpisodeNode): number {
  const parent = parentOf(episode, node);
  return parent === null ? 0 : scoreAfter(parent);
}

/** r_joint = the joint action's change of the score (Ng, Harada and Russell 1999), plus the mean of its roles' penalties. */
export const progressReward: JointReward = (episode, node, rewards) =>
  progressAlong(episode, [node], 1) + jointExtra(episode, node, rewards);

/** The action's own penalties, for `roleProgress`. */
export const ownPenalties: Return = ({ action }, rewards) => rewards.extra(action);

/** The mean of the simultaneous roles' penalties, for `roleProgress`. */
export const sharedPenalties: Return = ({ episode, node }, rewards) => jointExtra(episode, node, rewards);

type NodeTest = (episode: Episode, node: EpisodeNode) => boolean;

/**
 * R = the change of the score (Ng, Harada and Russell 1999) from the state the role acted in to the one it acts in next,
 * or to the end, whoever caused it, plus penalties: for critics that follow one role (`tokenGae`, `actionGae`), for which
 * the other roles are part of the environment. γ once per turn.
 */
export function roleProgress(discount: number, penalties: Return): Return {
  return (placed, rewards) => {
    const isNext: NodeTest = (episode, node) =>
      edgesOf(episode, node).some(({ action }) => action.role === placed.action.role);
    return progressAlong(placed.episode, pathUntil(placed, isNext), discount) + penalties(placed, rewards);
  };
}

/**
 * R = the change of the score (Ng, Harada and Russell 1999) from the state the role acted in to the next one in which a
 * trained role of the team acts, or to the end, plus the mean of the roles' penalties: for a critic that follows the team
 * (`actionGae`). Frozen roles are part of the environment, and their reaction to an action is its credit; without frozen
 * roles, R is the joint action's own change. γ once per turn.
 */
export function teamProgress(discount: number): Return {
  return (placed, rewards) =>
    progressAlong(placed.episode, pathUntil(placed, isTrained), discount) + sharedPenalties(placed, rewards);
}

/** Whether a trained role's action led to the node. */
function isTrained(episode: Episode, node: EpisodeNode): boolean {
  return edgesOf(episode, node).some(({ action }) => !action.frozen);
}

/**
 * R = the change of the score (Ng, Harada and Russell 1999) from the state the role acted in to the end, whoever caused
 * it, plus the role's own penalties from here on; γ once per turn.
 */
export function laterProgress(discount: number): Return {
  return (placed, rewards) => {
    const since = placed.action.turn;
    return roleTrajectory(placed).reduce(
      (total, { action }) => total + discount ** (action.turn - since) * rewards.extra(action),
      progressAlong(placed.episode, pathFrom(placed), discount),
    );
  };
}

/**
 * R = the change of the score (Ng, Harada and Russell 1999) over the whole trajectory plus the role's own penalties on it;
 * γ once per turn.
 */
export function trajectoryProgress(discount: number): Return {
  return (placed, rewards) =>
    trajectoryOf(placed)
      .filter(({ action }) => action.role === placed.action.role)
      .reduce(
        (total, { action }) => total + discount ** action.turn * rewards.extra(action),
        progressAlong(placed.episode, wholePath(placed), discount),
      );
}

/**
 * The end of the action's trajectory. @throws TroupeError `internal` if the sampler did not continue from the action's
 * node
 */
function endOf(placed: PlacedAction): EpisodeEnd {
  const end = trajectoryEnd(placed);
  if (end !== undefined) return end;
  throw new TroupeError(
    "internal",
    "an outcome return needs whole trajectories, but the sampler did not continue from an action's node; " +
      "use `keep: all`",
  );
}

/** Every action of the action's trajectory, from the root to the end. */
function trajectoryOf(placed: PlacedAction): readonly Occurrence[] {
  return actionsTo(placed.episode, nodeOf(placed.episode, endOf(placed).node));
}

/** The nodes of the action's trajectory, without the root. */
function wholePath(placed: PlacedAction): EpisodeNode[] {
  return pathTo(placed.episode, nodeOf(placed.episode, endOf(placed).node));
}

/** The nodes of the action's trajectory from its own on. */
function pathFrom(placed: PlacedAction): EpisodeNode[] {
  const path = wholePath(placed);
  return path.slice(path.indexOf(placed.node));
}

/** The same, up to but excluding the next one that `isNext`. */
function pathUntil(placed: PlacedAction, isNext: NodeTest): EpisodeNode[] {
  const path = pathFrom(placed);
  const next = path.findIndex((node, index) => index > 0 && isNext(placed.episode, node));
  return next === -1 ? path : path.slice(0, next);
}

/** The turn of the joint action that led to the node. */
function turnOf(episode: Episode, node: EpisodeNode): number {
  return edgesOf(episode, node)[0]?.action.turn ?? 0;
}
