/** The checkpoints of a run. */
import { checkpointSteps } from "../runs/checkpoints.ts";
import { schemaVersion } from "../runs/records.ts";
import { saveReinforcement } from "./auxiliary.ts";
import { savePolicies } from "./policies.ts";
import { placeOf } from "./state.ts";
import type { Run } from "./state.ts";
import { trainedPolicies } from "./teams.ts";

/** After the last step of each stage, and at intervals. */
export async function checkpointIfDue(run: Run): Promise<void> {
  const { step, recipe } = run;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const { stageStep } = placeOf(recipe, step);
  const isLast = step === warmSteps || step === warmSteps + recipe.train.steps;
  if (isLast || stageStep % recipe.checkpoint.every === 0) await checkpoint(run);
}

async function checkpoint(run: Run): Promise<void> {
  const { engine, stage, folder, step, bases, reinforcement, emit } = run;
  const { recipe, trained } = stage;
  emit({ type: "phase", phase: "saving" });
  const { directory } = await folder.recordCheckpoint(step, recipe.checkpoint.keep, async (place) => ({
    schema_version: schemaVersion,
    step,
    ...placeOf(recipe, step),
    policies: await savePolicies(engine, place, trainedPolicies(recipe), trained),
    ...(bases === undefined ? {} : { bases }),
    ...(reinforcement === null ? {} : { reinforcement: await saveReinforcement(run, reinforcement, place) }),
  }));
  run.interrupts.saved();
  emit({ type: "checkpoint", step, directory });
}

/** A checkpoint of the last step, unless there is one. */
export async function keepStep(run: Run): Promise<void> {
  if (run.step > 0 && !(await checkpointsOf(run)).includes(run.step)) await checkpoint(run);
}

export function checkpointsOf({ folder }: Run): Promise<number[]> {
  return checkpointSteps(folder.layout.checkpoints);
}
