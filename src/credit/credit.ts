/** Turns rewards into credit: advantages, one per token, for each action of the episodes. */
import type { Episode } from "../rollout/episode.ts";
import type { Algorithm, CreditedAction, Signals, TokenAdvantages } from "./algorithm.ts";
import { compare, wrongColumn, type ReturnedAction } from "./compare.ts";
import { isFlat } from "./flat.ts";
import { placedActions } from "./placed-actions.ts";
import { shareOf } from "./shares.ts";
import { turnWeight } from "./turn-weights.ts";

/**
 * Every completion of every node once, including siblings that were not kept, in the order of the trees. A frozen
 * role's actions enter no group and get advantage 0, and so do actions whose return, or anything else their advantage
 * depends on, is missing a reward. @throws TroupeError `internal` if a signal that the algorithm needs is missing
 */
export function credit(
  episodes: readonly Episode[],
  algorithm: Algorithm,
  signals: Signals = {},
): CreditedAction[] {
  const placed = episodes.flatMap(placedActions);
  const all = compare(placed, algorithm, signals);
  const trained = all.filter(({ action }) => !action.frozen);
  const spread = algorithm.tokenCredit.spread(trained, { kl: algorithm.kl, signals });
  const known = trained
    .map((action, index) => ({ action, tokens: spread[index] as TokenAdvantages }))
    .filter(({ action, tokens }) => isKnown(action.return) && tokens.advantages.every(isKnown));
  checkFinite(known, algorithm);
  const normal = whitened(known, algorithm);
  checkFinite(normal, algorithm);
  const tokensOf = new Map(normal.map(({ action, tokens }) => [action, tokens]));
  return all.map((one) => {
    const tokens = tokensOf.get(one);
    const isMissing = one.action.frozen ? !isKnown(one.return) : tokens === undefined;
    return creditedAction(isMissing ? { ...one, return: null, advantage: 0 } : one, tokens, algorithm);
  });
}

/** A missing reward is NaN; anything else that is not finite is no credit. */
function checkFinite(known: readonly SpreadAction[], algorithm: Algorithm): void {
  for (const { action, tokens } of known) {
    const wrong = [...tokens.advantages, ...(tokens.valueTargets ?? [])].find((one) => !Number.isFinite(one));
    if (wrong === undefined) continue;
    const of = `an action of role ${action.action.role} in ${action.episode.id}`;
    throw wrongColumn(algorithm, `the credit of ${of} is ${wrong}`);
  }
}

function isKnown(value: number): boolean {
  return !Number.isNaN(value);
}

interface SpreadAction {
  readonly action: ReturnedAction;
  readonly tokens: TokenAdvantages;
}

/**
 * Over all of a policy's actions, before they are split into minibatches. Where every return is equal, what is left to
 * whiten is KL, and whitening would enlarge it to full size: such a step credits nothing. A critic's advantages have other
 * differences: what it expected of each state.
 */
function whitened(spread: readonly SpreadAction[], algorithm: Algorithm): readonly SpreadAction[] {
  const { whitening } = algorithm;
  if (whitening === null) return spread;
  return [...Map.groupBy(spread, ({ action }) => action.action.policy).values()].flatMap((own) => {
    const given = own.map(({ tokens }) => tokens.advantages);
    const isUninformative = algorithm.critic === null && isFlat(own.map(({ action }) => action.earned));
    const advantages = isUninformative
      ? given.map(({ length }) => new Float64Array(length))
      : whitening(given);
    return own.map(({ action, tokens }, index) => ({
      action,
      tokens: { ...tokens, advantages: advantages[index] as Float64Array },
    }));
  });
}

function creditedAction(
  compared: Omit<ReturnedAction, "return"> & Pick<CreditedAction, "return">,
  tokens: TokenAdvantages | undefined,
  algorithm: Algorithm,
): CreditedAction {
  const { action } = compared;
  const weight = turnWeight(compared, algorithm);
  const advantages = (tokens?.advantages ?? new Float64Array(action.tokens.length)).map(
    (one) => weight * one,
  );
  return {
    ...compared,
    together: algorithm.grouping.together?.(compared) ?? compared.group,
    share: shareOf(compared, algorithm.sampling),
    advantages,
    advantage: meanOf(advantages) ?? weight * compared.advantage,
    ...(tokens?.valueTargets === undefined ? {} : { valueTargets: tokens.valueTargets }),
  };
}

/** The mean of equal values is exactly that value, without rounding. */
function meanOf(values: Float64Array): number | undefined {
  const [first] = values;
  if (values.every((value) => value === first)) return first;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
