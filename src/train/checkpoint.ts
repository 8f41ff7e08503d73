/** The checkpoints of a run. */
import type { Engine } from "../engines/engine.ts";
import type { CheckpointState } from "../runs/checkpoint-state.ts";
import { checkpointSteps } from "../runs/checkpoints.ts";
import { schemaVersion } from "../runs/records.ts";
import { saveAuxiliaryModels, type AuxiliaryModels } from "./auxiliary.ts";
import type { Batches } from "./batches.ts";
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
  batches,
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
    ...(auxiliary === null
      ? {}
      : { reinforcement: await saveReinforcement(engine, folder, auxiliary, batches) }),
  }));
  shared.interrupts.saved();
  emit({ type: "checkpoint", step, directory });
}

async function saveReinforcement(
  engine: Engine,
  folder: string,
  auxiliary: AuxiliaryModels,
  batches: Batches | null,
): Promise<CheckpointState["reinforcement"]> {
  return { ...(await saveAuxiliaryModels(engine, folder, auxiliary)), ...(await batches?.save(folder)) };
}

/** A checkpoint of the last step, unless there is one. */
export async function keepStep(state: TrainingState): Promise<void> {
  if (state.step > 0 && !(await checkpointsOf(state)).includes(state.step)) await checkpoint(state);
}

export function checkpointsOf({ run }: TrainingState): Promise<number[]> {
  return checkpointSteps(run.layout.checkpoints);
}
