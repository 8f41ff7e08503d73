/** Measures what an algorithm needs of a step's actions before credit. */
import type { Signals } from "../credit/algorithm.ts";
import type { Episode } from "../rollout/episode.ts";
import { importanceWeights, largestWeight } from "../credit/importance.ts";
import type { PolicyMetrics } from "../runs/records.ts";
import { settleAll } from "../settle.ts";
import { mean } from "../statistics.ts";
import type { Carried } from "./auxiliary.ts";
import { criticValues } from "./critics.ts";
import { divergenceOf, logprobsUnder, referenceLogprobs } from "./references.ts";
import type { Divergence } from "./references.ts";
import type { Learner } from "./learner.ts";

export interface Measured {
  readonly signals: Signals;
  /** By trained policy, for algorithms with a KL term: the divergence from its reference, and the β of this step. */
  readonly divergence: Readonly<Record<string, Divergence & { readonly coefficient: number }>>;
  /** By trained policy, of batches that an earlier version sampled. */
  readonly importance: Readonly<Record<string, NonNullable<PolicyMetrics["importance"]>>>;
}

/** Only measures what the algorithm needs. */
export async function measure(
  learner: Learner,
  carried: Carried,
  episodes: readonly Episode[],
  isBehind: boolean,
): Promise<Measured> {
  const reference = fromReferences(learner, carried, episodes);
  const values = fromCritics(learner, episodes);
  const proximal = isBehind ? fromProximal(learner, episodes) : noCorrection;
  await settleAll<unknown>([reference, values, proximal]);
  const { signals, divergence } = await reference;
  const corrected = await proximal;
  return {
    signals: { ...signals, ...(await values), ...corrected.signals },
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
  { engine, trained, measuring }: Learner,
  episodes: readonly Episode[],
): Promise<Pick<Measured, "signals" | "importance">> {
  const logprobs = await logprobsUnder((policy) => policy, engine, episodes, measuring);
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
  { engine, algorithm: { kl }, trained, measuring }: Learner,
  { klCoefficients }: Carried,
  episodes: readonly Episode[],
): Promise<Omit<Measured, "importance">> {
  if (kl === null) return { signals: {}, divergence: {} };
  const klCoefficient = (policy: string) => klCoefficients[policy] ?? kl.coefficient;
  const logprobs = await referenceLogprobs(kl.to, engine, episodes, measuring);
  const divergence = [...trained].map((policy) => [
    policy,
    { ...divergenceOf(policy, logprobs), coefficient: klCoefficient(policy) },
  ]);
  return {
    signals: { reference: (action) => logprobs.get(action), klCoefficient },
    divergence: Object.fromEntries(divergence) as Measured["divergence"],
  };
}

async function fromCritics(learner: Learner, episodes: readonly Episode[]): Promise<Signals> {
  return learner.algorithm.critic === null ? {} : { values: await criticValues(learner, episodes) };
}
