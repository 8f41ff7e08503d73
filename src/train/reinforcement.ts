/** One step of reinforcement: sample, measure, credit, update. The same for every algorithm. */
import type { CreditedAction } from "../credit/algorithm.ts";
import { credit } from "../credit/credit.ts";
import { toData } from "../credit/data.ts";
import { adaptKl } from "../credit/kl/adapt.ts";
import { addedUse, withServicesUsed } from "../calls/services.ts";
import { settleAll } from "../settle.ts";
import { schemaVersion } from "../runs/records.ts";
import type { CriticMetrics, PolicyMetrics } from "../runs/records.ts";
import type { Carried } from "./auxiliary.ts";
import type { Batch, Batches } from "./batches.ts";
import type { CreditedBatch } from "./credited-batch.ts";
import { updateCritics } from "./critics.ts";
import type { Critic } from "./critics.ts";
import { forEachPolicy } from "./learner.ts";
import type { Learner } from "./learner.ts";
import { minibatchesOf } from "./minibatches.ts";
import type { StepEpisodes, UsedBefore } from "./play.ts";
import type { ReinforcementRecord } from "./step-record.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { countsOf, timesOf } from "./service-use.ts";
import { measure } from "./signals.ts";
import type { Measured } from "./signals.ts";
import { timed } from "./timed.ts";
import { adamAt, updatePolicy } from "./update.ts";

export interface Reinforcement {
  readonly batches: Batches;
  readonly learner: Learner;
  readonly critics: readonly Critic[];
  readonly onPhase: (phase: "sampling" | "training") => void;
}

/** @param step Counted over both stages. @param stageStep Counted within the stage, like all key paths. */
export async function reinforcementStep(
  { batches, learner, critics, onPhase }: Reinforcement,
  carried: Carried,
  step: number,
  stageStep: number,
): Promise<ReinforcementRecord> {
  onPhase("sampling");
  const sampling = await timed(() => batches.take(stageStep, carried));
  const { played } = sampling.value;
  batches.prepare(stageStep + 1, usedAfter(carried, played));
  onPhase("training");
  const training = await timed(() =>
    withServicesUsed(() => learn(learner, critics, carried, stageStep, sampling.value)),
  );
  const { value: learned, services: trainedWith } = training.value;
  const used = addedUse(played.services, trainedWith);
  const place = { schema_version: schemaVersion, step } as const;
  return {
    played,
    credited: learned.credited,
    carried: learned.carried,
    metrics: {
      ...place,
      stage: "reinforcement",
      stageStep,
      policies: learned.policies,
      ...(critics.length === 0 ? {} : { critics: learned.critics }),
      rollout: {
        ...rolloutMetrics(played, learned.credited),
        sampledSoFar: learned.carried.sampledTokens,
      },
      ...countsOf(used),
    },
    timing: {
      ...place,
      what: "reinforcement",
      seconds: sampling.seconds + training.seconds,
      sampling: sampling.seconds,
      training: training.seconds,
      ...timesOf(used),
    },
  };
}

function usedAfter(before: UsedBefore, { sampledTokens, tasks, scores }: StepEpisodes): UsedBefore {
  return {
    sampledTokens: before.sampledTokens + sampledTokens,
    tasks: before.tasks + tasks,
    scores,
  };
}

interface Learned {
  readonly credited: readonly CreditedAction[];
  readonly carried: Carried;
  readonly policies: Readonly<Record<string, PolicyMetrics>>;
  readonly critics: Readonly<Record<string, CriticMetrics>>;
}

/** Policies and critics are updated concurrently: the data of each was computed before any of them changed. */
async function learn(
  learner: Learner,
  critics: readonly Critic[],
  carried: Carried,
  stageStep: number,
  { played, isBehind }: Batch,
): Promise<Learned> {
  const { kept } = played;
  const measured = await measure(learner, carried, kept, isBehind);
  const { signals } = measured;
  const credited = credit(kept, learner.algorithm, signals);
  const batch = { stageStep, credited, signals };
  const policies = forEachPolicy(learner.trained, (policy) => reinforce(learner, policy, batch));
  const criticMetrics = updateCritics(learner, critics, batch);
  await settleAll<unknown>([policies, criticMetrics]);
  return {
    credited,
    policies: withMeasured(await policies, measured),
    critics: await criticMetrics,
    carried: { klCoefficients: adapted(learner, measured), ...usedAfter(carried, played) },
  };
}

function reinforce(
  { engine, algorithm, settings, learningRates, root, signal }: Learner,
  policy: string,
  { stageStep, credited, signals }: CreditedBatch,
): Promise<PolicyMetrics> {
  const own = credited.filter(({ action }) => action.policy === policy);
  const batches = minibatchesOf({ settings, root }, policy, stageStep, own);
  return updatePolicy(engine, {
    policy,
    loss: algorithm.objective.loss,
    batches: batches.map((batch) => toData(batch, algorithm, signals)),
    adam: adamAt(settings, stageStep, learningRates[policy]),
    signal,
  });
}

function withMeasured(
  policies: Readonly<Record<string, PolicyMetrics>>,
  { divergence, importance }: Measured,
): Record<string, PolicyMetrics> {
  const entries = Object.entries(policies).map(([name, metrics]) => {
    const found = divergence[name];
    const { perToken: referenceKl = 0, coefficient: klCoefficient = 0 } = found ?? {};
    const corrected = importance[name] === undefined ? {} : { importance: importance[name] };
    const kl = found === undefined ? {} : { referenceKl, klCoefficient };
    return [name, { ...metrics, ...kl, ...corrected }] as const;
  });
  return Object.fromEntries(entries);
}

/** Coefficients are constant if the algorithm's KL term has no target. */
function adapted({ algorithm: { kl } }: Learner, { divergence }: Measured): Record<string, number> {
  if (kl === null) return {};
  const entries = Object.entries(divergence).map(([policy, { coefficient, perToken, tokens }]) => [
    policy,
    adaptKl(coefficient, perToken, kl, tokens),
  ]);
  return Object.fromEntries(entries) as Record<string, number>;
}
