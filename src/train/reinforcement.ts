/** One step of reinforcement: roll out, measure, give credit, update. Blind to the algorithm, which is a row of functions. */
import type { CreditedAction } from "../credit/algorithm.ts";
import { credit } from "../credit/credit.ts";
import { toData } from "../credit/data.ts";
import { adaptKl } from "../credit/kl/adapt.ts";
import { settleAll } from "../rollout/settle.ts";
import { schemaVersion } from "../runs/records.ts";
import type { CriticMetrics, PolicyMetrics } from "../runs/records.ts";
import type { Carried, Companions } from "./companions.ts";
import { updateCritics } from "./critics.ts";
import type { Lesson } from "./lesson.ts";
import { minibatchesOf } from "./minibatches.ts";
import { playStep } from "./play.ts";
import type { PlayedStep } from "./play.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import type { Session } from "./session.ts";
import { forTrained, timed } from "./session.ts";
import { measure } from "./signals.ts";
import type { Measured } from "./signals.ts";
import { adamAt, updatePolicy } from "./update.ts";
import type { StepRecord } from "./warm-start.ts";

export interface ReinforcementRecord extends StepRecord {
  readonly played: PlayedStep;
  readonly credited: readonly CreditedAction[];
  /** For the next step. */
  readonly carried: Carried;
}

/** @param step Counted over both stages. @param stageStep Counted within the stage, like all random paths. */
export async function reinforcementStep(
  session: Session,
  companions: Companions,
  step: number,
  stageStep: number,
): Promise<ReinforcementRecord> {
  session.emit({ type: "phase", phase: "sampling" });
  const sampling = await timed(() => playStep(session, stageStep, companions.carried));
  session.emit({ type: "phase", phase: "training" });
  const training = await timed(() => learn(session, companions, stageStep, sampling.value));
  const { credited, carried, policies, critics } = training.value;
  const place = { schema_version: schemaVersion, step } as const;
  return {
    played: sampling.value,
    credited,
    carried,
    metrics: {
      ...place,
      stage: "reinforcement",
      stageStep,
      policies,
      ...(Object.keys(critics).length === 0 ? {} : { critics }),
      rollout: { ...rolloutMetrics(sampling.value, credited), sampledSoFar: carried.sampledTokens },
    },
    timing: {
      ...place,
      what: "reinforcement",
      seconds: sampling.seconds + training.seconds,
      sampling: sampling.seconds,
      training: training.seconds,
    },
  };
}

interface Learned {
  readonly credited: readonly CreditedAction[];
  readonly carried: Carried;
  readonly policies: Readonly<Record<string, PolicyMetrics>>;
  readonly critics: Readonly<Record<string, CriticMetrics>>;
}

/** Policies and critics are updated side by side: each has data of its own, from before either changed. */
async function learn(
  session: Session,
  { critics, carried }: Companions,
  stageStep: number,
  { kept, sampledTokens, tasks }: PlayedStep,
): Promise<Learned> {
  const measured = await measure(session, carried, kept);
  const { signals } = measured;
  const credited = credit(kept, session.algorithm, signals);
  const lesson = { stageStep, credited, signals };
  const policies = forTrained(session, (policy) => reinforce(session, policy, lesson));
  const criticMetrics = updateCritics(session, critics, lesson);
  await settleAll<unknown>([policies, criticMetrics]);
  return {
    credited,
    policies: withDivergence(await policies, measured),
    critics: await criticMetrics,
    carried: {
      klCoefficients: adapted(session, measured),
      sampledTokens: carried.sampledTokens + sampledTokens,
      tasks: carried.tasks + tasks,
    },
  };
}

function reinforce(
  session: Session,
  policy: string,
  { stageStep, credited, signals }: Lesson,
): Promise<PolicyMetrics> {
  const { recipe, algorithm } = session;
  const own = credited.filter(({ action }) => action.policy === policy);
  const batches = minibatchesOf(session, policy, stageStep, own);
  return updatePolicy(session.engine, {
    policy,
    loss: algorithm.objective.loss,
    batches: batches.map((batch) => toData(batch, algorithm, signals)),
    adam: adamAt(recipe.train, stageStep, recipe.policies[policy]?.learningRate),
    signal: session.cancel,
  });
}

function withDivergence(
  policies: Readonly<Record<string, PolicyMetrics>>,
  { divergence }: Measured,
): Record<string, PolicyMetrics> {
  const entries = Object.entries(policies).map(([name, metrics]) => {
    const found = divergence[name];
    const { perToken: referenceKl = 0, coefficient: klCoefficient = 0 } = found ?? {};
    return [name, found === undefined ? metrics : { ...metrics, referenceKl, klCoefficient }] as const;
  });
  return Object.fromEntries(entries);
}

/** Where the algorithm's KL term has no target, the coefficients stay as they are. */
function adapted({ algorithm: { kl } }: Session, { divergence }: Measured): Record<string, number> {
  if (kl === null) return {};
  const entries = Object.entries(divergence).map(([policy, { coefficient, perToken, tokens }]) => [
    policy,
    adaptKl(coefficient, perToken, kl, tokens),
  ]);
  return Object.fromEntries(entries) as Record<string, number>;
}
