/** One step of reinforcement, the same for every algorithm. */
import { addedUse, withServicesUsed } from "../calls/services.ts";
import { credit } from "../credit/credit.ts";
import { adaptKl } from "../credit/kl.ts";
import { schemaVersion } from "../runs/records.ts";
import { timed } from "../timed.ts";
import { openReinforcement } from "./auxiliary.ts";
import { countsOf, timesOf } from "./failures.ts";
import { measure, type Measured } from "./measure.ts";
import { rolloutMetrics } from "./metrics.ts";
import { openBatches } from "./prefetch.ts";
import { recordStep } from "./recorder.ts";
import type { ReinforcementState, Run, StepEpisodes, UsedBefore } from "./state.ts";
import { update, type Updated } from "./update.ts";

/** @param stageStep Counted within the stage, like all key paths. */
export async function trainStep(run: Run, stageStep: number): Promise<void> {
  const state = (run.reinforcement ??= await openReinforcement(run));
  const batches = (run.batches ??= await openBatches(run));
  const { algorithm, emit } = run;

  // Sample and judge, unless that was done while the step before trained (prefetch.ts).
  emit({ type: "phase", phase: "sampling" });
  const sampling = await timed(() => batches.take(stageStep, state));
  const { played, isOffPolicy } = sampling.value;
  const used = usedAfter(state, played);
  batches.prepare(stageStep + 1, used);

  emit({ type: "phase", phase: "training" });
  const training = await timed(() =>
    withServicesUsed(async () => {
      const measured = await measure(run, state, played.kept, isOffPolicy);
      const credited = credit(played.kept, algorithm, measured.signals);
      const updated = await update(run, stageStep, credited, measured.signals);
      return { measured, credited, updated };
    }),
  );
  const { measured, credited, updated } = training.value.value;
  const services = addedUse(played.services, training.value.services);

  const place = { schema_version: schemaVersion, step: run.step + 1 } as const;
  await recordStep(run, {
    played,
    credited,
    metrics: {
      ...place,
      stage: "reinforcement",
      stageStep,
      policies: withMeasured(updated, measured),
      ...(Object.keys(updated.critics).length === 0 ? {} : { critics: updated.critics }),
      rollout: { ...rolloutMetrics(played, credited), sampledSoFar: used.sampledTokens },
      ...countsOf(services),
    },
    timing: {
      ...place,
      what: "reinforcement",
      seconds: sampling.seconds + training.seconds,
      sampling: sampling.seconds,
      training: training.seconds,
      ...timesOf(services),
    },
  });
  const { beginning } = state;
  run.reinforcement = { beginning, klCoefficients: adapted(run, measured), ...used };
}

function usedAfter(before: UsedBefore, { sampledTokens, tasks, scores }: StepEpisodes): UsedBefore {
  return {
    sampledTokens: before.sampledTokens + sampledTokens,
    tasks: before.tasks + tasks,
    scores,
  };
}

/** The metrics of policies, with what was measured of them before the update. */
function withMeasured({ policies }: Updated, { divergence, importance }: Measured): Updated["policies"] {
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
function adapted({ algorithm: { kl } }: Run, { divergence }: Measured): ReinforcementState["klCoefficients"] {
  if (kl === null) return {};
  const entries = Object.entries(divergence).map(([policy, { coefficient, perToken, tokens }]) => [
    policy,
    adaptKl(coefficient, perToken, kl, tokens),
  ]);
  return Object.fromEntries(entries) as Record<string, number>;
}
