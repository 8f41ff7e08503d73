/**
 * From episodes to advantages. Every completion is placed in its tree and gets a return; returns are compared within
 * groups, A = (R − b) / F; an action's advantage becomes one number per token, which data.ts hands to the engine. Pure
 * functions; nothing here uses an engine.
 */
import { TroupeError } from "../errors.ts";
import type { Episode } from "../rollout/episode.ts";
import {
  type Algorithm,
  type ComparedAction,
  type CreditedAction,
  type LeftOut,
  missing,
  type PlacedAction,
  type Rewards,
  type Signals,
  type TokenAdvantages,
} from "./algorithm.ts";
import { dividesByDeviation, isFlat } from "./baselines.ts";
import { isContinuation, placedActions } from "./places.ts";
import { rewardsOf } from "./rewards.ts";
import { maxVarianceSubset } from "./selection.ts";
import { treeWeight, turnWeight } from "./weights.ts";

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
  const returned = withReturns(episodes.flatMap(placedActions), algorithm, signals);
  const compared = withAdvantages(returned, algorithm, signals);
  const known = withTokens(compared, algorithm, signals);
  const whitened = whiten(known, algorithm);
  const tokensOf = new Map(whitened.map(({ action, tokens }) => [action, tokens]));
  return compared.map((one) => creditedAction(one, tokensOf.get(one), algorithm));
}

/** A compared action and its return before KL was charged. */
interface ReturnedAction extends ComparedAction {
  readonly earned: number;
  readonly leftOut?: LeftOut;
}

type Returned = Omit<ReturnedAction, "advantage" | "leftOut">;

function withReturns(placed: readonly PlacedAction[], algorithm: Algorithm, signals: Signals): Returned[] {
  const { grouping, returns } = algorithm;
  const rewards = rewardsOf(algorithm, signals);
  const isCharged = algorithm.kl?.where === "reward" && !algorithm.tokenCredit.chargesKl;
  const uncharged: Rewards = isCharged ? rewardsOf({ ...algorithm, kl: null }, {}) : rewards;
  return placed.map((one) => {
    // It may be on a trajectory that nothing rewards.
    if (one.action.masked !== undefined)
      return { ...one, group: grouping.key(one), return: missing, earned: missing };
    const earned = checkedReturn(returns(one, uncharged), one, algorithm);
    const charged = isCharged ? checkedReturn(returns(one, rewards), one, algorithm) : earned;
    return { ...one, group: grouping.key(one), return: charged, earned };
  });
}

/** NaN is what a missing reward makes of a return; anything else that is not finite is a mistake. */
function checkedReturn(value: number, { episode, action }: PlacedAction, algorithm: Algorithm): number {
  if (Number.isFinite(value)) return value;
  const lacksRewards = episode.nodes.some((node) => node.actions.some(({ reward }) => reward === null));
  if (Number.isNaN(value) && lacksRewards) return value;
  throw wrongColumn(
    algorithm,
    `the return of an action of role ${action.role} in ${episode.id} is ${value}, although no reward is missing`,
  );
}

/** Each action compared with its group. Those that continue an alternative are in none, and of a group some samples may be left out. */
function withAdvantages(
  returned: readonly Returned[],
  algorithm: Algorithm,
  { baselines = {} }: Signals,
): ReturnedAction[] {
  const { grouping, sampling } = algorithm;
  const before = new Map(Object.entries(baselines));
  const leftOut = new Map<PlacedAction, LeftOut>();
  for (const one of returned) if (isContinuation(one, sampling)) leftOut.set(one, "continuation");
  const trained = returned.filter((one) => !one.action.frozen && !leftOut.has(one));
  const advantages = new Map<PlacedAction, number>();
  for (const [key, group] of Map.groupBy(trained, (one) => one.group)) {
    const known = group.filter((one) => isKnown(one.return));
    const samples = keptSamples([...samplesOf(known, key, algorithm)], algorithm);
    const bySample = sampleAdvantages(samples, before.get(key), algorithm);
    for (const one of known) {
      const advantage = bySample.get(grouping.sampleKey(one));
      advantages.set(one, advantage ?? 0);
      if (advantage === undefined) leftOut.set(one, "down-sampled");
    }
  }
  return returned.map((one) => {
    const why = one.action.frozen || !isKnown(one.return) ? undefined : leftOut.get(one);
    const otherwise = one.action.frozen || why !== undefined ? 0 : missing;
    const advantage = advantages.get(one) ?? otherwise;
    return { ...one, advantage, ...(why === undefined ? {} : { leftOut: why }) };
  });
}

/** One action of a sample, by the sample's key. */
type Sample = readonly [string, Returned];

/** What actions earned is compared, without KL, which would otherwise decide among equals. */
function keptSamples(
  samples: readonly Sample[],
  { selection: { downSample } }: Algorithm,
): readonly Sample[] {
  if (downSample === undefined || samples.length <= downSample) return samples;
  const kept = maxVarianceSubset(
    samples.map(([, one]) => one.earned),
    downSample,
  );
  return kept.map((index) => samples[index] as Sample);
}

/** A = (R − b) / F over the samples of a group, by the samples' keys. */
function sampleAdvantages(
  samples: readonly Sample[],
  before: number | undefined,
  algorithm: Algorithm,
): ReadonlyMap<string, number> {
  // What is left of equal returns is rounding, or KL that a divisor would enlarge: AdamW would make a full step of it.
  const isUninformative = isFlat(samples.map(([, one]) => one.earned)) && dividesByDeviation(algorithm);
  const first = samples[0]?.[1].return ?? 0;
  const given = samples.map(([, one]) => one.return);
  const returns = isUninformative || isFlat(given) ? given.map(() => first) : given;
  const baselines = algorithm.baseline(returns, before);
  const divisor = algorithm.scale(returns);
  const isRight =
    Number.isFinite(divisor) && divisor > 0 && returns.every((_, at) => Number.isFinite(baselines[at]));
  if (!isRight) {
    const found = `the baselines [${baselines.join(", ")}] and the scale ${divisor}`;
    throw wrongColumn(
      algorithm,
      `the returns [${returns.join(", ")}] have ${found}, which must be finite, the scale above 0`,
    );
  }
  return new Map(
    samples.map(([sample], at) => [sample, ((returns[at] ?? 0) - (baselines[at] ?? 0)) / divisor]),
  );
}

/**
 * What the baselines of groups that span the run have come to after these actions, by group: for `Signals.baselines` of the
 * next step. Those of groups without an action here stay as they were. Empty for other algorithms.
 */
export function baselinesAfter(
  credited: readonly CreditedAction[],
  { grouping, baseline }: Algorithm,
  before: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  if (grouping.spans !== "run") return {};
  const after = new Map(Object.entries(before));
  const compared = credited.filter((one) => !one.action.frozen && one.leftOut === undefined);
  for (const [key, group] of Map.groupBy(compared, (one) => one.group)) {
    const returns = new Map(
      group.flatMap((one) => (one.return === null ? [] : [[grouping.sampleKey(one), one.return] as const])),
    );
    // What the next return would be compared with.
    const [next] = baseline([...returns.values(), 0], after.get(key)).slice(-1);
    if (returns.size > 0 && next !== undefined) after.set(key, next);
  }
  return Object.fromEntries(after);
}

/**
 * One action of each sample. The actions of a sample have one return: of several the last one would count.
 * @throws TroupeError `bad_recipe` naming the sample and its tasks
 */
function samplesOf(
  group: readonly Returned[],
  key: string,
  algorithm: Algorithm,
): ReadonlyMap<string, Returned> {
  const samples = new Map<string, Returned>();
  for (const one of group) {
    const sample = algorithm.grouping.sampleKey(one);
    const first = samples.get(sample);
    if (first === undefined) samples.set(sample, one);
    else if (first.episode.id !== one.episode.id)
      throw wrongColumn(
        algorithm,
        `\`grouping.sampleKey\` gives ${JSON.stringify(sample)} to actions of the tasks ${first.episode.id} and ${one.episode.id} in ` +
          `the group ${JSON.stringify(key)}, but a sample belongs to one task; make \`episode.id\` a part of it`,
      );
    else if (!isFlat([first.return, one.return]))
      throw wrongColumn(
        algorithm,
        `\`grouping.sampleKey\` gives ${JSON.stringify(sample)} to actions of the task ${one.episode.id} with the returns ` +
          `${first.return} and ${one.return}, but actions of a sample share one return`,
      );
  }
  return samples;
}

interface TokenCredited {
  readonly action: ReturnedAction;
  readonly tokens: TokenAdvantages;
}

/** The actions that train, with one advantage per token; those that depend on a missing reward are left out. */
function withTokens(
  compared: readonly ReturnedAction[],
  algorithm: Algorithm,
  signals: Signals,
): TokenCredited[] {
  const trained = compared.filter(({ action, leftOut }) => !action.frozen && leftOut === undefined);
  const tokens = algorithm.tokenCredit.toTokens(trained, { kl: algorithm.kl, signals });
  const known = trained
    .map((action, index) => ({ action, tokens: tokens[index] as TokenAdvantages }))
    .filter((one) => isKnown(one.action.return) && one.tokens.advantages.every(isKnown));
  checkFinite(known, algorithm);
  return known;
}

/**
 * Over all of a policy's actions, before they are split into minibatches. Where every return is equal, what is left to
 * whiten is KL, and whitening would enlarge it to full size: such a step credits nothing. A critic's advantages have other
 * differences: what it expected of each state.
 */
function whiten(known: readonly TokenCredited[], algorithm: Algorithm): readonly TokenCredited[] {
  const { whitening } = algorithm;
  if (whitening === null) return known;
  const whitened = [...Map.groupBy(known, ({ action }) => action.action.policy).values()].flatMap((own) => {
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
  checkFinite(whitened, algorithm);
  return whitened;
}

/** A missing reward is NaN; anything else that is not finite is no credit. */
function checkFinite(known: readonly TokenCredited[], algorithm: Algorithm): void {
  for (const { action, tokens } of known) {
    const wrong = tokens.advantages.find(isNotFinite) ?? tokens.valueTargets?.find(isNotFinite);
    if (wrong === undefined) continue;
    const of = `an action of role ${action.action.role} in ${action.episode.id}`;
    throw wrongColumn(algorithm, `the credit of ${of} is ${wrong}`);
  }
}

function isNotFinite(value: number): boolean {
  return !Number.isFinite(value);
}

function isKnown(value: number): boolean {
  return !Number.isNaN(value);
}

function wrongColumn({ name }: Algorithm, problem: string): TroupeError {
  return new TroupeError("bad_recipe", `The algorithm ${name} is wrong: ${problem}.`);
}

/** @param tokens undefined: the action is frozen, left out, or depends on a missing reward */
function creditedAction(
  compared: ReturnedAction,
  tokens: TokenAdvantages | undefined,
  algorithm: Algorithm,
): CreditedAction {
  const { action, leftOut } = compared;
  const isUnused = action.frozen || leftOut !== undefined;
  const isMissing = isUnused ? !isKnown(compared.return) : tokens === undefined;
  const known = isMissing ? { ...compared, return: null, advantage: 0 } : compared;
  const factor = turnWeight(compared, algorithm);
  const advantages = (tokens?.advantages ?? new Float64Array(action.tokens.length)).map(
    (one) => factor * one,
  );
  return {
    ...known,
    minibatchKey: algorithm.grouping.minibatchKey?.(compared) ?? compared.group,
    weight: treeWeight(compared, algorithm.sampling),
    advantages,
    advantage: meanOf(advantages) ?? factor * known.advantage,
    ...(tokens?.valueTargets === undefined ? {} : { valueTargets: tokens.valueTargets }),
  };
}

/** The mean of equal values is exactly that value, without rounding. */
function meanOf(values: Float64Array): number | undefined {
  const [first] = values;
  if (values.every((value) => value === first)) return first;
  return values.reduce((total, value) => total + value, 0) / values.length;
}
