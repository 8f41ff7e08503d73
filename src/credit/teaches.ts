import type { Episode } from "../rollout/episode.ts";
import type { Algorithm } from "./algorithm.ts";
import { placedActions } from "./placed-actions.ts";
import { rewardsOf } from "./rewards.ts";
import { trains } from "./trains.ts";

/** Sums of the same rewards in another order are the same return. */
const rounding = 1e-9;

/**
 * Whether some group of the episode's actions has returns that differ, and an action that trains: what dynamic sampling
 * keeps (DAPO, arXiv 2503.14476, eq. 11: neither all right nor all wrong). KL in the reward does not count, nor do frozen
 * roles.
 * Deviation: DAPO keeps or drops a prompt with its one group; an episode of a team has several, and stays if any differs.
 */
export function teaches(episode: Episode, algorithm: Algorithm): boolean {
  const rewards = rewardsOf({ ...algorithm, kl: null }, {});
  const live = placedActions(episode).filter(({ action }) => !action.frozen);
  return [...Map.groupBy(live, algorithm.grouping.key).values()].some((group) => {
    if (!group.some(({ action }) => trains(action, algorithm))) return false;
    const returns = group.map((placed) => algorithm.returns(placed, rewards));
    return returns.some((value) => Math.abs(value - (returns[0] ?? value)) > rounding);
  });
}
