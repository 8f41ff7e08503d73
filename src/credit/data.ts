/**
 * From advantages to the engine's data: what trains, by what it is divided, and what of KL and entropy is in the loss.
 * Actions with the same prompt become one datum.
 */
import type { Continuation, Datum } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { sum } from "../statistics.ts";
import type { Algorithm, CreditedAction, Signals, Untrained } from "./algorithm.ts";
import { klCoefficient } from "./kl.ts";
import { isMasked, trains } from "./selection.ts";
import { importanceWeights } from "./weights.ts";

/**
 * Actions of the same policy with the same prompt share one Datum, in the order in which their prompts first occur; the
 * engine's sum over tokens is the algorithm's loss. A token's advantage is divided by the aggregation's divisor, which
 * counts every trainable action of the policy, including those with advantage 0: leaving these out of the data saves
 * work and changes no gradient. If KL or an entropy is part of the loss they stay, because they then have a gradient. Masked
 * actions, those left out and those without a return count nowhere. Call once per minibatch. @throws TroupeError `internal` if a required
 * reference is missing
 */
export function toData(
  credited: readonly CreditedAction[],
  algorithm: Algorithm,
  signals: Signals = {},
): readonly Datum[] {
  const counted = countedIn(credited, algorithm);
  const trained = counted.filter((one) => whyUntrained(one, algorithm) === null);
  const divide = divisors(counted, algorithm);
  // Samples of one request have the same array.
  const texts = new Map<Int32Array, string>();
  const textOf = (prompt: Int32Array): string => {
    const text = texts.get(prompt) ?? prompt.join(",");
    texts.set(prompt, text);
    return text;
  };
  const shared = Map.groupBy(trained, ({ action }) => `${action.policy} ${textOf(action.prompt)}`);
  return [...shared.values()].map((members): Datum => {
    const { policy, prompt } = (members[0] as CreditedAction).action;
    const continuations = members.map((member) => continuation(member, divide(member), algorithm, signals));
    return { policy, prompt, continuations };
  });
}

/** Null: it adds to the loss, if its return is known and it is neither frozen nor left out. */
export function whyUntrained({ action, advantages }: CreditedAction, algorithm: Algorithm): Untrained | null {
  if (action.tokens.length === 0) return "empty";
  if (isMasked(action, algorithm)) return "truncated";
  return addsToLoss(algorithm) || advantages.some((one) => one !== 0) ? null : "no-advantage";
}

/** The actions that the loss's means count. */
function countedIn(credited: readonly CreditedAction[], algorithm: Algorithm): readonly CreditedAction[] {
  return credited.filter(
    (one) => one.return !== null && one.leftOut === undefined && trains(one.action, algorithm),
  );
}

/**
 * Each role's share of Σ |advantage| / divisor over the tokens that train: of the weights with which the loss multiplies
 * the gradients of log-probabilities, before importance weights. Not of gradients, which may cancel or differ in size.
 * Empty: every advantage is 0.
 */
export function advantageShares(
  credited: readonly CreditedAction[],
  algorithm: Algorithm,
): ReadonlyMap<string, number> {
  const counted = countedIn(credited, algorithm);
  const divide = divisors(counted, algorithm);
  const weights = counted.map((one) => ({
    role: one.action.role,
    weight: sum(one.advantages.map(Math.abs)) / divide(one),
  }));
  const total = sum(weights.map(({ weight }) => weight));
  if (total === 0) return new Map();
  const byRole = Map.groupBy(weights, ({ role }) => role);
  return new Map([...byRole].map(([role, own]) => [role, sum(own.map(({ weight }) => weight)) / total]));
}

/** Whether a token without an advantage has a gradient. */
function addsToLoss(algorithm: Algorithm): boolean {
  return algorithm.kl?.where === "loss" || entropyOf(algorithm) !== undefined;
}

function entropyOf({ objective: { loss } }: Algorithm): number | undefined {
  return "entropy" in loss ? loss.entropy : undefined;
}

type Divisor = (credited: CreditedAction) => number;

/**
 * token-mean: the policy's tokens. sequence-mean: the action's tokens times the policy's actions. sequence-sum: the
 * policy's actions. Actions and their tokens count with their weight.
 */
function divisors(counted: readonly CreditedAction[], { objective }: Algorithm): Divisor {
  const byPolicy = Map.groupBy(counted, ({ action }) => action.policy);
  const { aggregation } = objective;
  const totals = new Map(
    [...byPolicy].map(([policy, members]) => {
      const sizes = members.map(({ action }) => (aggregation === "token-mean" ? action.tokens.length : 1));
      return [policy, sum(members.map(({ weight }, index) => weight * (sizes[index] ?? 0)))];
    }),
  );
  return ({ action, weight }) =>
    ((totals.get(action.policy) ?? 1) * (aggregation === "sequence-mean" ? action.tokens.length : 1)) /
    weight;
}

function continuation(
  credited: CreditedAction,
  divisor: number,
  algorithm: Algorithm,
  signals: Signals,
): Continuation {
  const { tokens } = credited.action;
  const { logprobs, advantages } = corrected(credited, signals);
  const scaled = Float32Array.from(advantages, (one) => one / divisor);
  const entropies = entropyOf(algorithm) === undefined ? {} : { weights: scaled.map(() => 1 / divisor) };
  return {
    tokens,
    logprobs,
    advantages: scaled,
    ...entropies,
    ...klInLoss(credited, divisor, algorithm, signals),
  };
}

/** Samples of the current policy need no correction. */
function corrected(
  { action, advantages }: CreditedAction,
  { proximal }: Signals,
): Pick<CreditedAction, "advantages"> & Pick<CreditedAction["action"], "logprobs"> {
  const now = proximal?.(action);
  if (now === undefined) return { logprobs: action.logprobs, advantages };
  const weights = importanceWeights(action, now);
  return { logprobs: now, advantages: advantages.map((one, token) => one * (weights[token] ?? 1)) };
}

/** log π_ref and β / divisor per token, for a loss with `kl`. */
function klInLoss(
  { action }: CreditedAction,
  divisor: number,
  { kl }: Algorithm,
  signals: Signals,
): Pick<Continuation, "reference" | "penalties"> {
  if (kl?.where !== "loss") return {};
  const reference = signals.reference?.(action);
  if (reference === undefined) {
    throw new TroupeError(
      "internal",
      `the algorithm has KL in its loss, but reference log-probabilities are missing for an action of role ${action.role}`,
    );
  }
  const penalty = klCoefficient(action.policy, kl, signals) / divisor;
  return { reference, penalties: new Float32Array(action.tokens.length).fill(penalty) };
}
