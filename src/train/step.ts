/** One step of reinforcement, the same for every algorithm: sample, judge, measure, credit, update, record. */
import { settledWithin } from "../calls/deadline.ts";
import { addedUse, withServicesUsed } from "../calls/services.ts";
import type { CreditedAction } from "../credit/algorithm.ts";
import { baselinesAfter, credit } from "../credit/credit.ts";
import { adaptKl } from "../credit/kl.ts";
import type { RoleName } from "../teams/team.ts";
import { hasWholeSamples } from "../recipes/watch.ts";
import { schemaVersion } from "../runs/records.ts";
import type { PolicyMetrics, StepMetrics } from "../runs/records.ts";
import { timed } from "../timed.ts";
import { openReinforcement } from "./auxiliary.ts";
import { checkFaults, countsOf, timesOf } from "./failures.ts";
import { influenceIfDue, type Influence } from "./influence.ts";
import { measure, type Measured } from "./measure.ts";
import { rolloutMetrics, unusedRewards } from "./metrics.ts";
import { openBatches, type Play } from "./prefetch.ts";
import { recordStep } from "./recorder.ts";
import { judge, sample } from "./sample.ts";
import type { ReinforcementState, Run, StepEpisodes, UsedBefore } from "./state.ts";
import { update, type Updated } from "./update.ts";

/** @param stageStep Counted within the stage, like all key paths. */
export async function trainStep(run: Run, stageStep: number): Promise<void> {
  const state = (run.reinforcement ??= await openReinforcement(run));
  const batches = (run.batches ??= await openBatches(run, play));

  run.emit({ type: "phase", phase: "sampling" });
  const sampling = await timed(() => batches.take(stageStep, state));
  const { played, isOffPolicy } = sampling.value;
  const used = usedAfter(state, played);
  batches.prepare(stageStep + 1, used);

  run.emit({ type: "phase", phase: "training" });
  const training = await timed(() =>
    withServicesUsed(async () => {
      const measured = await measure(run, state, played.kept, isOffPolicy);
      const influence = await influenceIfDue(run, stageStep, played.kept);
      const credited = credit(played.kept, run.algorithm, measured.signals);
      const updated = await update(run, stageStep, credited, measured.signals);
      return { measured, influence, credited, updated };
    }),
  );
  const learned = training.value.value;
  const services = addedUse(played.services, training.value.services);

  const place = { schema_version: schemaVersion, step: run.step + 1 } as const;
  const figures = figuresOf(run, played, learned, used.sampledTokens);
  const seconds = { sampling: sampling.seconds, training: training.seconds };
  const total = seconds.sampling + seconds.training;
  await recordStep(run, {
    played,
    credited: learned.credited,
    metrics: { ...place, stage: "reinforcement", stageStep, ...figures, ...countsOf(services) },
    timing: { ...place, what: "reinforcement", seconds: total, ...seconds, ...timesOf(services) },
  });
  run.reinforcement = {
    ...state,
    klCoefficients: adapted(run, learned.measured),
    baselines: baselinesAfter(learned.credited, run.algorithm, state.baselines),
    ...used,
  };
}

/** Samples and judges a step's episodes, when it begins or, off-policy, while the step before trains (prefetch.ts). */
const play: Play = async (run, stageStep, before, sampler, signal) => {
  const work = withServicesUsed(async () => {
    const sampled = await sample(run, stageStep, before, sampler, signal);
    return judge(run, sampled, stageStep, before.scores);
  });
  // An environment or a judge need not notice the signal.
  const { value, services } = await settledWithin(work, signal);
  checkFaults(services, run.recipe.failures.limit);
  return { ...value, services };
};

function usedAfter(before: UsedBefore, { sampledTokens, tasks, scores }: StepEpisodes): UsedBefore {
  return {
    sampledTokens: before.sampledTokens + sampledTokens,
    tasks: before.tasks + tasks,
    scores,
  };
}

interface Learned {
  readonly measured: Measured;
  readonly influence: ReadonlyMap<RoleName, Influence>;
  readonly credited: readonly CreditedAction[];
  readonly updated: Updated;
}

function figuresOf(
  { recipe, environment, algorithm }: Pick<Run, "recipe" | "environment" | "algorithm">,
  played: StepEpisodes,
  { measured, influence, credited, updated: { policies, critics, mismatch } }: Learned,
  sampledSoFar: number,
): Pick<StepMetrics, "policies" | "critics" | "rollout"> {
  const known = Object.entries(policies).map(([name, metrics]) => [
    name,
    withMeasured(name, metrics, measured),
  ]);
  const isWhole = hasWholeSamples(recipe.train, environment);
  return {
    policies: Object.fromEntries(known) as Record<string, PolicyMetrics>,
    ...(Object.keys(critics).length === 0 ? {} : { critics }),
    rollout: {
      ...rolloutMetrics(played, credited, { algorithm, isWhole, influence }),
      ...unusedRewards(environment, played.episodes, algorithm),
      ...(mismatch === undefined ? {} : { mismatch }),
      sampledSoFar,
    },
  };
}

/** With what was measured of the policy before the update. */
function withMeasured(
  policy: string,
  metrics: PolicyMetrics,
  { divergence, importance }: Measured,
): PolicyMetrics {
  const [found, weights] = [divergence[policy], importance[policy]];
  return {
    ...metrics,
    ...(found === undefined ? {} : { referenceKl: found.perToken, klCoefficient: found.coefficient }),
    ...(weights === undefined ? {} : { importance: weights }),
  };
}

/** Coefficients are constant if the algorithm's KL term has no target. */
function adapted({ algorithm: { kl } }: Run, { divergence }: Measured): ReinforcementState["klCoefficients"] {
  if (kl === null) return {};
  const entries = Object.entries(divergence).map(([policy, { coefficient, perToken, tokens }]) => [
    policy,
    adaptKl(coefficient, perToken, kl, tokens),
  ]);
  return Object.fromEntries(entries) as Record<string, number>;
}
