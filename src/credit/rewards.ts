/** What each action earned: the environment's reward and everything an algorithm adds. */
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { edgesOf, pathTo, parentOf } from "../rollout/navigate.ts";
import { sum } from "../statistics.ts";
import { type Algorithm, type Occurrence, type Rewards, type Signals, missing } from "./algorithm.ts";
import { isPartOfReply } from "./calls.ts";
import { klCharges } from "./kl/charges.ts";
import { overlongPenalty } from "./penalties/overlong.ts";

/**
 * r = α·team′ + local + penalties; team′ is the team reward after shaping between roles. Frozen roles have no
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
