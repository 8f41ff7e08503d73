import type { Episode } from "../rollout/episode.ts";
import type { Algorithm } from "./algorithm.ts";
import { knownReturns } from "./known-returns.ts";
import { trains } from "./trains.ts";

/** Sums of the same rewards in another order are the same return. */
const rounding = 1e-9;

/**
 * Whether in none of the episode's groups with an action that trains the returns differ: what dynamic sampling drops (DAPO,
 * arXiv 2503.14476, eq. 11, keeps what is neither all right nor all wrong). KL in the reward does not count, nor do frozen
 * roles and returns that are missing.
 * Deviation: DAPO keeps or drops a prompt with its one group; an episode of a team has several, and stays if any differs.
 */
export function hasZeroVariance(episode: Episode, algorithm: Algorithm): boolean {
  return [...Map.groupBy(knownReturns(episode, algorithm), algorithm.grouping.key).values()].every(
    (group) => {
      const [first] = group;
      const isLevel = group.every((one) => Math.abs(one.return - (first?.return ?? 0)) <= rounding);
      return isLevel || !group.some(({ action }) => trains(action, algorithm));
    },
  );
}
