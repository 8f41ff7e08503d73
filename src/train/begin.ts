/** The state of a new run, or of one that is resumed after its last checkpoint. */
import path from "node:path";
import { retryingEngine } from "../engines/retrying.ts";
import { rootKey } from "../random.ts";
import { recipeWarnings, type Warning } from "../recipes/validation/warnings.ts";
import { changedModules, moduleHashes } from "../recipes/write.ts";
import { readRecipe } from "../runs/read.ts";
import type { Run } from "../runs/run.ts";
import { noteData } from "./data-change.ts";
import { noteEngine } from "./engine-change.ts";
import { retriesOf } from "./failures.ts";
import type { TrainOptions } from "./options.ts";
import { restorePolicies } from "./policies.ts";
import { makeRecorder } from "./recorder.ts";
import { openStage, type Shared } from "./stage.ts";
import { noteModels } from "./started-models.ts";
import { endWarmStart, placeOf, type TrainingState } from "./training-state.ts";

/** What a run opens, and closes at its end. */
export type Opened = Pick<Shared, "services" | "verdicts" | "judging" | "interrupts">;

export async function begin(options: TrainOptions, run: Run, opened: Opened): Promise<TrainingState> {
  const { recipe, environment, algorithm, judge } = options;
  const engine = retryingEngine(options.engine, retriesOf(recipe));
  const { step = 0, stage = placeOf(recipe, 1).stage, bases } = run.checkpoint?.state ?? {};
  const emit = options.onEvent ?? (() => {});
  const resolved = { recipe, environment, algorithm, ...(judge === undefined ? {} : { judge }) };
  const shared = { ...resolved, ...opened, engine, root: rootKey(recipe.seed) };
  const state: TrainingState = {
    run,
    recorder: makeRecorder(run, options, emit),
    shared,
    emit,
    step,
    stage: await openStage(shared, run.layout.models, stage, bases),
    bases,
    warmStartStep: null,
    previews: options.preview === true,
    isRangeReported: false,
    recent: null,
    auxiliary: null,
    batches: null,
  };
  announce(state);
  const warnings = [
    ...(await warningsOf(options, run)),
    ...uncheckedTokenizers(state),
    ...(await noteData(environment, run)),
    ...startsAgain(run),
  ];
  for (const warning of warnings) emit({ type: "warning", ...warning });
  await noteEngine(engine, run, step, emit);
  await run.recordModules(moduleHashes(recipe));
  await noteModels(recipe, run);
  if (run.checkpoint !== null) await restore(state, run.checkpoint);
  if (step > 0 && step === recipe.warmStart?.steps) await endWarmStart(state);
  return state;
}

async function warningsOf(options: TrainOptions, { layout }: Run): Promise<readonly Warning[]> {
  const changed = changedModules(await readRecipe(layout.directory), options.recipe);
  return [...recipeWarnings(options), ...changed];
}

function uncheckedTokenizers({ stage }: TrainingState): readonly Warning[] {
  return Object.entries(stage.policies).flatMap(
    ([
      name,
      {
        info: { uncheckedTokenizer: problem },
      },
    ]) => {
      const fix = "use the tokenizer files that the server's model came with";
      return problem === undefined ? [] : [{ key: `policies.${name}.model`, problem, fix }];
    },
  );
}

/** A run that was interrupted before its first checkpoint, or whose checkpoints were deleted. */
function startsAgain({ checkpoint, repeated, layout }: Run): readonly Warning[] {
  if (checkpoint !== null || repeated === 0) return [];
  const steps = repeated === 1 ? "the recorded step is" : `the ${repeated} recorded steps are`;
  const problem = `${layout.checkpoints} has no checkpoint, so the run starts again and ${steps} repeated`;
  return [{ key: "checkpoint.every", problem, fix: "restore the folder if it was deleted" }];
}

function announce({ emit, run, shared: { recipe, engine }, stage }: TrainingState): void {
  emit({
    type: "run-started",
    run: path.basename(run.layout.directory),
    recipe: recipe.name,
    engine: engine.description,
    policies: Object.values(stage.policies).map(({ info }) => ({
      name: info.name,
      parameters: info.parameters,
      trainableParameters: info.trainableParameters,
      trained: stage.trained.has(info.name),
    })),
    steps: { "warm-start": recipe.warmStart?.steps ?? 0, reinforcement: recipe.train.steps },
  });
}

async function restore(
  { shared, emit }: TrainingState,
  { directory, state }: NonNullable<Run["checkpoint"]>,
): Promise<void> {
  await restorePolicies(shared.engine, directory, state.policies);
  emit({ type: "resumed", step: state.step, stage: state.stage, stageStep: state.stageStep });
}
