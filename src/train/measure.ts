/**
 * What an algorithm needs to know of a step's actions before credit: their log-probabilities under the references, or
 * under the policies as they are now, and the values of the critics.
 */
import type { Algorithm, Signals } from "../credit/algorithm.ts";
import { valueQueries } from "../credit/critics.ts";
import { importanceWeights, largestWeight } from "../credit/weights.ts";
import { klEstimate } from "../credit/kl.ts";
import { placedActions } from "../credit/places.ts";
import type { Continuation, Datum, Engine } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Action, Episode } from "../rollout/episode.ts";
import type { PolicyMetrics } from "../runs/records.ts";
import { settleAll } from "../settle.ts";
import { mean } from "../statistics.ts";
import { referenceName } from "./auxiliary.ts";
import type { ReinforcementState, Run } from "./state.ts";

export interface Measured {
  readonly signals: Signals;
  /** By trained policy, for algorithms with a KL term: the divergence from its reference, and the β of this step. */
  readonly divergence: Readonly<Record<string, Divergence & { readonly coefficient: number }>>;
  /** By trained policy, of batches that an earlier version sampled. */
  readonly importance: Readonly<Record<string, NonNullable<PolicyMetrics["importance"]>>>;
}

/** Only measures what the algorithm needs. */
export async function measure(
  run: Run,
  state: ReinforcementState,
  episodes: readonly Episode[],
  isOffPolicy: boolean,
): Promise<Measured> {
  const reference = fromReferences(run, state, episodes);
  const values = fromCritics(run, episodes);
  const proximal = isOffPolicy ? fromProximal(run, episodes) : noCorrection;
  await settleAll<unknown>([reference, values, proximal]);
  const { signals, divergence } = await reference;
  const corrected = await proximal;
  return {
    signals: { ...signals, ...(await values), ...corrected.signals, baselines: state.baselines },
    divergence,
    importance: corrected.importance,
  };
}

const noCorrection: Promise<Pick<Measured, "signals" | "importance">> = Promise.resolve({
  signals: {},
  importance: {},
});

/** The policies themselves, before this step changes them. */
async function fromProximal(
  { engine, stage: { trained }, sampling }: Run,
  episodes: readonly Episode[],
): Promise<Pick<Measured, "signals" | "importance">> {
  const logprobs = await logprobsUnder((policy) => policy, engine, episodes, sampling);
  const importance = [...trained].map((policy) => {
    const own = [...logprobs].filter(([action]) => action.policy === policy);
    const weights = own.flatMap(([action, now]) => [...importanceWeights(action, now)]);
    const truncated = mean(weights.map((weight) => (weight === largestWeight ? 1 : 0)));
    return [policy, { weight: mean(weights), truncated }] as const;
  });
  return {
    signals: { proximal: (action) => logprobs.get(action) },
    importance: Object.fromEntries(importance),
  };
}

async function fromReferences(
  { engine, algorithm: { kl }, stage: { trained }, sampling }: Run,
  { klCoefficients }: ReinforcementState,
  episodes: readonly Episode[],
): Promise<Omit<Measured, "importance">> {
  if (kl === null) return { signals: {}, divergence: {} };
  const klCoefficient = (policy: string) => klCoefficients[policy] ?? kl.coefficient;
  const logprobs = await referenceLogprobs(kl.to, engine, episodes, sampling);
  const divergence = [...trained].map((policy) => [
    policy,
    { ...divergenceOf(policy, logprobs), coefficient: klCoefficient(policy) },
  ]);
  return {
    signals: { reference: (action) => logprobs.get(action), klCoefficient },
    divergence: Object.fromEntries(divergence) as Measured["divergence"],
  };
}

async function fromCritics(
  { engine, algorithm, stage: { policies, trained }, sampling }: Run,
  episodes: readonly Episode[],
): Promise<Signals> {
  if (algorithm.critic === null) return {};
  const longest = Math.min(...[...trained].map((name) => policies[name]?.maxLength ?? Infinity));
  return { values: await criticValues(algorithm, engine, episodes, longest, sampling) };
}

/** What the critics expect of each action. @param longest tokens of a prompt with its action */
export async function criticValues(
  algorithm: Algorithm,
  engine: Pick<Engine, "forward">,
  episodes: readonly Episode[],
  longest: number,
  signal?: AbortSignal,
): Promise<NonNullable<Signals["values"]>> {
  const { data, read } = valueQueries(episodes, algorithm);
  checkLengths(data, longest);
  if (data.length === 0) return read([]);
  const { values = [] } = await engine.forward(data, signal === undefined ? {} : { signal });
  const asked = data.flatMap(({ policy, continuations }) =>
    continuations.map(({ tokens }) => ({ policy, tokens })),
  );
  return read(asked.map((one, index) => checkedValues(values[index], one)));
}

/** As of references: NaN would count as a missing reward, and values of too few tokens as those of other actions. */
function checkedValues(
  values: Float32Array | undefined,
  { policy, tokens }: Pick<Datum, "policy"> & Pick<Continuation, "tokens">,
): Float32Array {
  const wrong = values?.find((one) => !Number.isFinite(one));
  if (values?.length === tokens.length && wrong === undefined) return values;
  const found =
    wrong === undefined
      ? `${values?.length ?? 0} values for ${tokens.length} tokens`
      : `the value ${wrong}; its weights have diverged: lower its learning rate, and start a new run`;
  throw new TroupeError("bad_model", `${policy} gave ${found}.`);
}

/** Each role's text fits its model; the concatenation for a central critic may not fit. */
function checkLengths(data: readonly Datum[], limit: number): void {
  for (const { prompt, continuations } of data) {
    const length = prompt.length + Math.max(...continuations.map(({ tokens }) => tokens.length));
    if (length <= limit) continue;
    throw new TroupeError(
      "too_long",
      `The concatenated prompts of the simultaneous roles have ${length} tokens with an action, but the central ` +
        `critic accepts at most ${limit}. Use a critic per role (ppo, iac), shorter prompts or a model with a longer context.`,
    );
  }
}

/**
 * The references' log-probabilities of every trainable action.
 * @param to the policy of the run that is the reference of all; undefined: each has its own
 */
export function referenceLogprobs(
  to: string | undefined,
  engine: Pick<Engine, "forward">,
  episodes: readonly Episode[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<Action, Float32Array>> {
  return logprobsUnder(to === undefined ? referenceName : () => to, engine, episodes, signal);
}

/** Those of a model for each policy, of every trainable action. Shared prompts are computed once. */
export async function logprobsUnder(
  modelOf: (policy: string) => string,
  engine: Pick<Engine, "forward">,
  episodes: readonly Episode[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<Action, Float32Array>> {
  const actions = episodes
    .flatMap(placedActions)
    .map(({ action }) => action)
    .filter(mayTrain);
  const shared = [...Map.groupBy(actions, ({ policy, prompt }) => `${policy} ${prompt.join(",")}`).values()];
  const data = shared.map((members) => {
    const { policy, prompt } = members[0] as Action;
    const continuations = members.map(({ tokens }) => ({ tokens }));
    return { policy: modelOf(policy), prompt, continuations };
  });
  if (data.length === 0) return new Map();
  const { logprobs } = await engine.forward(data, signal === undefined ? {} : { signal });
  return new Map(
    shared.flat().map((action, index) => [action, checked(logprobs[index], action, modelOf(action.policy))]),
  );
}

/** NaN would count as a missing reward. @throws TroupeError `bad_model` */
function checked(logprobs: Float32Array | undefined, { role, tokens }: Action, model: string): Float32Array {
  const wrong = logprobs?.find((one) => !Number.isFinite(one));
  if (logprobs?.length === tokens.length && wrong === undefined) return logprobs;
  const found =
    wrong === undefined
      ? `${logprobs?.length ?? 0} log-probabilities for an action of role ${role} with ${tokens.length} tokens`
      : `the log-probability ${wrong} for a token of role ${role}; its weights have diverged, or it excludes the token`;
  throw new TroupeError("bad_model", `${model} gave ${found}.`);
}

function mayTrain({ frozen, tokens }: Action): boolean {
  return !frozen && tokens.length > 0;
}

export interface Divergence {
  /** Mean over the tokens of k3, in nats: an estimate of KL(sampled ‖ reference). */
  readonly perToken: number;
  readonly tokens: number;
}

/** The divergence of the sampling policy from its reference, on its actions of the step. */
export function divergenceOf(policy: string, logprobs: ReadonlyMap<Action, Float32Array>): Divergence {
  const estimates = [...logprobs].flatMap(([action, reference]) =>
    action.policy === policy
      ? Array.from(reference, (one, token) => klEstimate("k3", action.logprobs[token] ?? one, one))
      : [],
  );
  return { perToken: mean(estimates), tokens: estimates.length };
}
