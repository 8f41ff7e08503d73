/**
 * Rewards: what each action earned, one number. The reward of the environment or of a judge as a score, shaped by the team
 * rewards of earlier actions, minus penalties. All are in units of the reward.
 */
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { edgesOf, parentOf, pathTo } from "../rollout/navigate.ts";
import { mean, sum } from "../statistics.ts";
import {
  type Algorithm,
  missing,
  type Occurrence,
  type Overlong,
  type Rewards,
  type Score,
  type Shaping,
  type Signals,
} from "./algorithm.ts";
import { klCharges } from "./kl.ts";
import { isPartOfReply } from "./places.ts";

/** r = α·r_team + r_local (the mixed reward of AT-GRPO, arXiv 2510.11062, where α = 1). */
export function mixedScore(alpha: number): Score {
  return (reward) => alpha * reward.team + reward.local;
}

/**
 * R′ = R + α(R − Q), Q = mean of the rewards before it on the trajectory; the first action is unchanged (MARTI,
 * `margin` in auto_reward_alloc.py, after MAPoRL, arXiv 2502.18439; from the code). Deviations: R and Q are team
 * rewards, in [0, 1] as in MARTI, where they are the agents' whole rewards; Q includes earlier phases of the same turn,
 * in MARTI only earlier turns.
 */
export function marginShaping(weight: number): Shaping {
  return (own, earlier) => (earlier.length === 0 ? own : own + weight * (own - mean(earlier)));
}

/**
 * R′ = R + α(QR − (1 − Q)(1 − R)), Q = mean of the rewards before it on the trajectory; the first action is unchanged
 * (MARTI, `quality` in auto_reward_alloc.py, after MAPoRL, arXiv 2502.18439; from the code): keeping a good answer good
 * is rewarded, leaving a bad one bad is punished. Deviations: those of `marginShaping`.
 */
export function qualityShaping(weight: number): Shaping {
  return (own, earlier) => {
    if (earlier.length === 0) return own;
    const before = mean(earlier);
    return own + weight * (before * own - (1 - before) * (1 - own));
  };
}

/**
 * DAPO's soft over-long punishment (arXiv 2503.14476, eq. 13), at most 0 and at least −penalty:
 * 0 up to length − buffer tokens, then −penalty·(tokens − (length − buffer)) / buffer, −penalty from `length` on.
 * Deviation: the paper's penalty is 1 and is added to a reward of ±1; here rewards are in [0, 1 + α] and it is an option.
 */
export function overlongPenalty(tokens: number, { length, buffer, penalty }: Overlong): number {
  const excess = tokens - (length - buffer);
  return excess <= 0 ? 0 : -penalty * Math.min(1, excess / buffer);
}

/**
 * Combines the above: r = α·team′ + local + penalties; team′ is the team reward after shaping between roles. Frozen roles have no
 * penalties.
 */
export function rewardsOf(algorithm: Algorithm, signals: Signals): Rewards {
  const { score, shaping, overlong, kl, tokenCredit } = algorithm;
  const charge = kl?.where === "reward" && !tokenCredit.chargesKl ? kl : null;
  const extra = (action: Action): number => {
    if (action.frozen) return 0;
    const penalty = overlong === null ? 0 : overlongPenalty(action.tokens.length, overlong);
    return charge === null ? penalty : penalty - sum(klCharges(action, charge, signals));
  };
  const shaped = (occurrence: Occurrence): number => {
    const { episode, node, reward } = occurrence;
    if (reward === null) return isPartOfReply(occurrence) ? 0 : missing;
    if (shaping === null) return score(reward);
    return score({ ...reward, team: shaping(reward.team, earlierRewards(episode, node)) });
  };
  return { extra, of: (occurrence) => shaped(occurrence) + extra(occurrence.action) };
}

/** Team rewards of the actions on the path to the state the node was acted from. */
function earlierRewards(episode: Episode, node: EpisodeNode): number[] {
  const parent = parentOf(episode, node);
  if (parent === null) return [];
  const earlier = pathTo(episode, parent).flatMap((one) => edgesOf(episode, one));
  return earlier.filter((one) => !isPartOfReply(one)).map(({ reward }) => reward?.team ?? missing);
}
