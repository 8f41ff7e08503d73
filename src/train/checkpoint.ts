/** The checkpoints of a run. */
import { checkpointSteps } from "../runs/checkpoints.ts";
import { schemaVersion } from "../runs/records.ts";
import { saveAuxiliaryModels } from "./auxiliary.ts";
import { savePolicies } from "./policies.ts";
import { trainedPolicies } from "./teams.ts";
import { placeOf } from "./training-state.ts";
import type { TrainingState } from "./training-state.ts";

export function isCheckpointDue({ step, shared: { recipe } }: TrainingState): boolean {
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const { stageStep } = placeOf(recipe, step);
  const isLast = step === warmSteps || step === warmSteps + recipe.train.steps;
  return isLast || stageStep % recipe.checkpoint.every === 0;
}

export async function checkpoint({
  shared,
  stage,
  run,
  step,
  bases,
  auxiliary,
  emit,
}: TrainingState): Promise<void> {
  const { engine } = shared;
  const { recipe, trained } = stage;
  emit({ type: "phase", phase: "saving" });
  const { directory } = await run.recordCheckpoint(step, recipe.checkpoint.keep, async (folder) => ({
    schema_version: schemaVersion,
    step,
    ...placeOf(recipe, step),
    policies: await savePolicies(engine, folder, trainedPolicies(recipe), trained),
    ...(bases === undefined ? {} : { bases }),
    ...(auxiliary === null ? {} : { reinforcement: await saveAuxiliaryModels(engine, folder, auxiliary) }),
  }));
  emit({ type: "checkpoint", step, directory });
}

/** A checkpoint of the last step, unless there is one. */
export async function keepStep(state: TrainingState): Promise<void> {
  if (state.step > 0 && !(await checkpointsOf(state)).includes(state.step)) await checkpoint(state);
}

export function checkpointsOf({ run }: TrainingState): Promise<number[]> {
  return checkpointSteps(run.layout.checkpoints);
}
