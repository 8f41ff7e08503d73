/** Turns rewards into credit: advantages, one per token, for each action of the episodes. */
import type { Episode } from "../rollout/episode.ts";
import type {
  Algorithm,
  CreditedAction,
  JudgedAction,
  PlacedAction,
  Rewards,
  Signals,
  TokenAdvantages,
} from "./algorithm.ts";
import { placedActions } from "./placed-actions.ts";
import { rewardsOf } from "./rewards.ts";
import { shareOf } from "./shares.ts";
import { turnWeight } from "./turn-weights.ts";

/**
 * Every completion of every node once, siblings that were not kept included, in the order of the trees. A frozen role's
 * actions enter no group and get advantage 0. Errors: `internal` where the algorithm asks for a signal that is missing.
 */
export function credit(
  episodes: readonly Episode[],
  algorithm: Algorithm,
  signals: Signals = {},
): CreditedAction[] {
  const placed = episodes.flatMap(placedActions);
  const judged = judge(placed, algorithm, rewardsOf(algorithm, forEveryOccurrence(placed, signals)));
  const trained = judged.filter(({ action }) => !action.frozen);
  const spread = algorithm.tokenCredit.spread(trained, { kl: algorithm.kl, signals });
  const byAction = new Map(whitened(trained, spread, algorithm).map((one, index) => [trained[index], one]));
  return judged.map((one) => creditedAction(one, byAction.get(one), algorithm));
}

/** Each completion with its return, and its place among those it is compared with. */
function judge(placed: readonly PlacedAction[], algorithm: Algorithm, rewards: Rewards): JudgedAction[] {
  const { grouping, returns } = algorithm;
  const returned = placed.map((one) => ({ ...one, group: grouping.key(one), return: returns(one, rewards) }));
  const trained = returned.filter(({ action }) => !action.frozen);
  const advantages = new Map<PlacedAction, number>();
  for (const group of Map.groupBy(trained, (one) => one.group).values()) {
    const byUnit = unitAdvantages(group, algorithm);
    for (const one of group) advantages.set(one, byUnit.get(grouping.unit(one)) ?? 0);
  }
  return returned.map((one) => ({ ...one, advantage: advantages.get(one) ?? 0 }));
}

/** Signals are measured once per completion; in cross mode the joint actions it is part of ask for them, too. */
function forEveryOccurrence(placed: readonly PlacedAction[], signals: Signals): Signals {
  const { reference } = signals;
  if (reference === undefined) return signals;
  const measured = new Map(
    placed.flatMap(({ action, occurrences }) => occurrences.map((one) => [one.action, action] as const)),
  );
  return { ...signals, reference: (action) => reference(measured.get(action) ?? action) };
}

/** A = (R − b) / F over the group's units. */
function unitAdvantages(
  group: readonly (PlacedAction & { readonly return: number })[],
  { grouping, baseline, scale }: Algorithm,
): Map<string, number> {
  const units = new Map(group.map((placed) => [grouping.unit(placed), placed.return]));
  const returns = [...units.values()];
  const baselines = baseline(returns);
  const divisor = scale(returns);
  return new Map(
    [...units].map(([unit, value], index) => [unit, (value - (baselines[index] ?? 0)) / divisor]),
  );
}

/** Over all of a policy's actions at once, before anything is split into minibatches. */
function whitened(
  trained: readonly JudgedAction[],
  spread: readonly TokenAdvantages[],
  { whitening }: Algorithm,
): readonly TokenAdvantages[] {
  if (whitening === null) return spread;
  const result = [...spread];
  const indices = trained.map((_, index) => index);
  for (const members of Map.groupBy(indices, (index) => trained[index]?.action.policy).values()) {
    const own = members.map((index) => spread[index] as TokenAdvantages);
    for (const [at, advantages] of whitening(own.map((one) => one.advantages)).entries()) {
      result[members[at] as number] = { ...(own[at] as TokenAdvantages), advantages };
    }
  }
  return result;
}

function creditedAction(
  judged: JudgedAction,
  tokens: TokenAdvantages | undefined,
  algorithm: Algorithm,
): CreditedAction {
  const { action } = judged;
  const weight = turnWeight(judged, algorithm);
  const advantages = (tokens?.advantages ?? new Float64Array(action.tokens.length)).map(
    (one) => weight * one,
  );
  return {
    ...judged,
    together: algorithm.grouping.together?.(judged) ?? judged.group,
    share: shareOf(judged, algorithm.sampling),
    advantages,
    advantage: meanOf(advantages) ?? weight * judged.advantage,
    ...(tokens?.valueTargets === undefined ? {} : { valueTargets: tokens.valueTargets }),
  };
}

/** Equal values give exactly their value, without rounding. */
function meanOf(values: Float64Array): number | undefined {
  const [first] = values;
  if (values.every((value) => value === first)) return first;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
