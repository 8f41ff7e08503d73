/** Selection: which actions train, which episodes dynamic sampling drops, and whether rewards matter at all. */
import { rootKey } from "../random.ts";
import type { Action, Episode } from "../rollout/episode.ts";
import { mean, sum } from "../statistics.ts";
import type { Algorithm, PlacedAction } from "./algorithm.ts";
import { isFlat } from "./baselines.ts";
import { drawnEpisode } from "./checks/episodes.ts";
import { placedActions } from "./places.ts";
import { rewardsOf } from "./rewards.ts";

/** Whether an action can be in the data: not frozen, not empty, not masked. */
export function trains(action: Action, algorithm: Pick<Algorithm, "selection">): boolean {
  return !action.frozen && action.tokens.length > 0 && !isMasked(action, algorithm);
}

/** Whether the algorithm leaves the action out because its length limit cut it off. */
export function isMasked({ stopReason }: Action, { selection }: Pick<Algorithm, "selection">): boolean {
  return selection.truncated === "mask" && stopReason === "length";
}

/** The actions that train, with their returns without KL in the reward; actions with a missing return are left out. */
export function knownReturns(
  episode: Episode,
  algorithm: Algorithm,
): (PlacedAction & { readonly return: number })[] {
  const rewards = rewardsOf({ ...algorithm, kl: null }, {});
  return placedActions(episode)
    .filter(({ action }) => !action.frozen)
    .map((placed) => ({ ...placed, return: algorithm.returns(placed, rewards) }))
    .filter((one) => !Number.isNaN(one.return));
}

/**
 * Indices, in their order, of the m returns with the largest variance: the i largest and the m − i smallest for the best i
 * (PODS, arXiv 2504.13818, max-variance down-sampling, algorithm 2), found in O(n log n). Of equal returns
 * the first count as the largest, the last as the smallest, and of equally good i its code's is taken: m, then the smallest.
 * @param size m, at most the number of returns
 */
export function maxVarianceSubset(returns: readonly number[], size: number): readonly number[] {
  const centre = mean(returns);
  const order = returns.map((_, index) => index).toSorted((a, b) => (returns[b] ?? 0) - (returns[a] ?? 0));
  const sorted = order.map((index) => (returns[index] ?? 0) - centre);
  const spread = (total: number, squares: number) => squares - (total * total) / size;
  const rounding = 1e-12 * squared(sorted);
  const [above, below] = [sorted.slice(0, size), sorted.slice(-size)];
  let [most, largest] = [spread(sum(above), squared(above)), size];
  let [total, squares] = [sum(below), squared(below)];
  for (let i = 0; i < size; i++) {
    if (spread(total, squares) > most + rounding) [most, largest] = [spread(total, squares), i];
    const [gone = 0, taken = 0] = [below[i], above[i]];
    total += taken - gone;
    squares += taken * taken - gone * gone;
  }
  const chosen = [...order.slice(0, largest), ...order.slice(order.length - (size - largest))];
  return chosen.toSorted((a, b) => a - b);
}

function squared(values: readonly number[]): number {
  return sum(values.map((one) => one * one));
}

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

/**
 * Whether an algorithm learns from rewards of actions, not from the episode's score alone: whether returns are missing
 * where all rewards are. A return of a user's own may expect more of an episode than a drawn one has, and fail: it is
 * taken to need rewards.
 */
export function usesRewards(algorithm: Algorithm): boolean {
  const episode = unrewarded();
  try {
    return knownReturns(episode, algorithm).length < episode.actions.length;
  } catch {
    return true;
  }
}

/** A trajectory with scores and without rewards. */
function unrewarded(): Episode {
  const sampling = { branch: { root: 1, inner: 1 }, keep: "all" } as const;
  const drawn = drawnEpisode({ sampling, phases: [["role"]] }, 0, rootKey(0));
  const nodes = drawn.nodes.map((node) => ({
    ...node,
    actions: node.actions.map((one) => ({ ...one, reward: null })),
  }));
  return { ...drawn, nodes };
}
