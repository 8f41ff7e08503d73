import type { Episode } from "../rollout/episode.ts";
import type { Algorithm } from "./algorithm.ts";
import { isFlat } from "./flat.ts";
import { knownReturns } from "./known-returns.ts";
import { trains } from "./trains.ts";

/**
 * Whether the returns are equal in each of the episode's groups with a training action: what dynamic sampling drops
 * (DAPO, arXiv 2503.14476, eq. 11, keeps prompts that are neither all right nor all wrong). KL in the reward, frozen
 * roles and missing returns are ignored. Deviation: DAPO keeps or drops a prompt with its one group; an episode of a
 * team has several, and stays if any differs.
 */
export function hasZeroVariance(episode: Episode, algorithm: Algorithm): boolean {
  return [...Map.groupBy(knownReturns(episode, algorithm), algorithm.grouping.key).values()].every(
    (group) => {
      const returns = group.map((one) => one.return);
      return isFlat(returns) || !group.some(({ action }) => trains(action, algorithm));
    },
  );
}
