/** Compares each action with its group: A = (R − b) / F. */
import { TroupeError } from "../errors.ts";
import type { Algorithm, ComparedAction, PlacedAction, Rewards, Signals } from "./algorithm.ts";
import { missing } from "./algorithm.ts";
import { dividesBySpread, isFlat } from "./flat.ts";
import { rewardsOf } from "./rewards.ts";

/** With its return, and with that before KL was charged. */
export interface ReturnedAction extends ComparedAction {
  readonly earned: number;
}

type Returned = Omit<ReturnedAction, "advantage">;

/** Each completion with its return, compared with its group. @throws TroupeError for a column that is wrong */
export function compare(
  placed: readonly PlacedAction[],
  algorithm: Algorithm,
  signals: Signals,
): readonly ReturnedAction[] {
  const returned = withReturns(placed, algorithm, signals);
  const trained = returned.filter(({ action }) => !action.frozen);
  const advantages = new Map<PlacedAction, number>();
  for (const [key, group] of Map.groupBy(trained, (one) => one.group)) {
    const known = group.filter((one) => !Number.isNaN(one.return));
    const byUnit = unitAdvantages(known, key, algorithm);
    for (const one of known) advantages.set(one, byUnit.get(algorithm.grouping.unit(one)) ?? 0);
  }
  return returned.map((one) => ({
    ...one,
    advantage: advantages.get(one) ?? (one.action.frozen ? 0 : missing),
  }));
}

function withReturns(placed: readonly PlacedAction[], algorithm: Algorithm, signals: Signals): Returned[] {
  const { grouping, returns } = algorithm;
  const rewards = rewardsOf(algorithm, signals);
  const isCharged = algorithm.kl?.where === "reward" && !algorithm.tokenCredit.chargesKl;
  const uncharged: Rewards = isCharged ? rewardsOf({ ...algorithm, kl: null }, {}) : rewards;
  return placed.map((one) => {
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

/** A = (R − b) / F over the units of each group. */
function unitAdvantages(
  group: readonly Returned[],
  key: string,
  algorithm: Algorithm,
): ReadonlyMap<string, number> {
  const units = [...unitsOf(group, key, algorithm)];
  // What is left of equal returns is rounding, or KL that a divisor would enlarge: AdamW would make a full step of it.
  const isUninformative = isFlat(units.map(([, one]) => one.earned)) && dividesBySpread(algorithm);
  const first = units[0]?.[1].return ?? 0;
  const given = units.map(([, one]) => one.return);
  const returns = isUninformative || isFlat(given) ? given.map(() => first) : given;
  const baselines = algorithm.baseline(returns);
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
  return new Map(units.map(([unit], at) => [unit, ((returns[at] ?? 0) - (baselines[at] ?? 0)) / divisor]));
}

/**
 * One action of each unit. Those of a unit are one sample, with one return: of several the last one would count.
 * @throws TroupeError `bad_recipe` naming the unit and its tasks
 */
function unitsOf(
  group: readonly Returned[],
  key: string,
  algorithm: Algorithm,
): ReadonlyMap<string, Returned> {
  const units = new Map<string, Returned>();
  for (const one of group) {
    const unit = algorithm.grouping.unit(one);
    const first = units.get(unit);
    if (first === undefined) units.set(unit, one);
    else if (first.episode.id !== one.episode.id)
      throw wrongColumn(
        algorithm,
        `\`grouping.unit\` gives ${JSON.stringify(unit)} to actions of the tasks ${first.episode.id} and ${one.episode.id} in ` +
          `the group ${JSON.stringify(key)}, but a unit is one sample of one task; make \`episode.id\` a part of it`,
      );
    else if (!isFlat([first.return, one.return]))
      throw wrongColumn(
        algorithm,
        `\`grouping.unit\` gives ${JSON.stringify(unit)} to actions of the task ${one.episode.id} with the returns ` +
          `${first.return} and ${one.return}, but actions of a unit share one return`,
      );
  }
  return units;
}

export function wrongColumn({ name }: Algorithm, problem: string): TroupeError {
  return new TroupeError("bad_recipe", `The algorithm ${name} is wrong: ${problem}.`);
}
