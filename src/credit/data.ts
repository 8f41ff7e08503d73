/** Turns credited actions into what an engine trains on. */
import type { Continuation, Datum } from "../engines/engine.ts";
import type { Algorithm, CreditedAction } from "./algorithm.ts";

export interface TrainingData {
  /** In the order in which their prompts first occur. The engine's sum over tokens is the algorithm's loss. */
  readonly data: readonly Datum[];
  readonly counts: DataCounts;
}

/** Actions; `trained` + `frozen` + `unspread` + `empty` is all of them. */
export interface DataCounts {
  readonly trained: number;
  readonly frozen: number;
  /** Left out because their advantage is 0: their group had no spread, or they sit exactly on the baseline. */
  readonly unspread: number;
  /** Left out because they have no token. */
  readonly empty: number;
  /** Tokens of the trained actions. */
  readonly tokens: number;
}

/**
 * Actions of the same policy with the same prompt share one Datum. A token's advantage is its action's, divided by the
 * aggregation's divisor, which counts every action of the policy that is not frozen, those without advantage too: to
 * leave those out saves work and changes no gradient. Actions cut off by length are trained like the others.
 */
export function toData(credited: readonly CreditedAction[], algorithm: Algorithm): TrainingData {
  const live = credited.filter(({ action }) => !action.frozen);
  const written = live.filter(({ action }) => action.tokens.length > 0);
  const trained = written.filter(({ advantage }) => advantage !== 0);
  const divide = divisors(written, algorithm);
  const shared = Map.groupBy(trained, ({ action }) => `${action.policy} ${action.prompt.join(",")}`);
  const data = [...shared.values()].map((members): Datum => {
    const { policy, prompt } = (members[0] as CreditedAction).action;
    return { policy, prompt, continuations: members.map((member) => continuation(member, divide)) };
  });
  const counts = {
    trained: trained.length,
    frozen: credited.length - live.length,
    unspread: written.length - trained.length,
    empty: live.length - written.length,
    tokens: sum(trained.map(({ action }) => action.tokens.length)),
  };
  return { data, counts };
}

type Divisor = (credited: CreditedAction) => number;

/** token-mean: the policy's tokens. sequence-mean: the action's tokens times the policy's actions. */
function divisors(written: readonly CreditedAction[], algorithm: Algorithm): Divisor {
  const byPolicy = Map.groupBy(written, ({ action }) => action.policy);
  const isTokenMean = algorithm.objective.aggregation === "token-mean";
  const totals = new Map(
    [...byPolicy].map(([policy, members]) => {
      const tokens = sum(members.map(({ action }) => action.tokens.length));
      return [policy, isTokenMean ? tokens : members.length];
    }),
  );
  return ({ action }) => (totals.get(action.policy) ?? 1) * (isTokenMean ? 1 : action.tokens.length);
}

function continuation(credited: CreditedAction, divisor: Divisor): Continuation {
  const { tokens, logprobs } = credited.action;
  const advantage = credited.advantage / divisor(credited);
  return { tokens, logprobs, advantages: new Float32Array(tokens.length).fill(advantage) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
