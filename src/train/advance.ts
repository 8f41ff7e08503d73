/** The steps of a run: evaluation, a step of its stage, a checkpoint. */
import { TroupeError } from "../errors.ts";
import { readMetrics } from "../runs/read.ts";
import type { StepMetrics } from "../runs/records.ts";
import type { Episode } from "../rollout/episode.ts";
import { openAuxiliaryModels } from "./auxiliary.ts";
import { BatchesAhead, batchesOnDemand, type Batches } from "./batches.ts";
import { momentOf } from "../rollout/judging.ts";
import { checkpoint, isCheckpointDue } from "./checkpoint.ts";
import { evaluateAfter } from "./evaluations.ts";
import type { Stage } from "./events.ts";
import { flatWarnings, patience } from "./flat-roles.ts";
import { isPreviewStep, preview } from "./preview.ts";
import { reinforcementStep } from "./reinforcement.ts";
import { outsideRange } from "./reward-range.ts";
import { learnerOf, playSetting, warmStartOf } from "./stage.ts";
import { endWarmStart, placeOf } from "./training-state.ts";
import type { Place, TrainingState } from "./training-state.ts";
import { warmStartSteps } from "./warm-start.ts";

/** Does every remaining step. False: stopped before the end. */
export async function advance(state: TrainingState): Promise<boolean> {
  const { recipe } = state.shared;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  let stage: Stage | null = null;
  while (await evaluate(state)) {
    if (state.step === warmSteps + recipe.train.steps) return true;
    if (state.shared.interrupts.isStopped) return false;
    const next = placeOf(recipe, state.step + 1);
    if (next.stage !== stage) announceStage(state, next.stage, next.stageStep - 1);
    stage = next.stage;
    if (isPreviewDue(state)) await preview(state);
    await takeStep(state, next);
    state.shared.interrupts.stepDone();
    if (isCheckpointDue(state)) await checkpoint(state);
    if (state.step === warmSteps) await endWarmStart(state);
  }
  return false;
}

function isPreviewDue({ previews, step, shared: { recipe } }: TrainingState): boolean {
  return previews && isPreviewStep(step, recipe.warmStart?.steps ?? 0);
}

function announceStage({ emit, shared: { recipe } }: TrainingState, stage: Stage, done: number): void {
  const steps = stage === "warm-start" ? (recipe.warmStart?.steps ?? 0) : recipe.train.steps;
  emit({ type: "stage-started", stage, steps, done });
}

async function evaluate({ shared, stage, run, recorder, emit, step }: TrainingState): Promise<boolean> {
  const { environment, engine, judge, verdicts: calls, services, interrupts } = shared;
  const report = (notice: string) => emit({ type: "judge-paused", notice });
  const moment = momentOf(judge ?? {}, shared.algorithm.sampling);
  const judging = judge?.evaluation === true ? { judge, moment, calls, report } : null;
  const evaluations = { ...stage, environment, services, engine, judging, emit, recorder };
  return evaluateAfter(evaluations, await run.evaluations(), step, interrupts);
}

async function takeStep(state: TrainingState, { stage, stageStep }: Place): Promise<void> {
  await (stage === "warm-start" ? warmUp(state, stageStep) : reinforce(state, stageStep));
}

async function warmUp(state: TrainingState, stageStep: number): Promise<void> {
  const { warmStart } = state.stage.recipe;
  if (warmStart === undefined)
    throw new TroupeError("internal", "a recipe without a warm start has no such step");
  state.emit({ type: "phase", phase: "training" });
  state.warmStartStep ??= warmStartSteps(warmStartOf(state.shared, state.stage, warmStart));
  const record = await state.warmStartStep(stageStep);
  await state.recorder.warmStartStep(record);
  state.step = record.metrics.step;
}

async function reinforce(state: TrainingState, stageStep: number): Promise<void> {
  const { shared, stage, run, emit } = state;
  const { team } = stage.recipe;
  state.auxiliary ??= await openAuxiliaryModels({ ...shared, ...stage, team }, run.layout, run.checkpoint);
  state.batches ??= await openBatches(state);
  const { critics, carried } = state.auxiliary;
  const reinforcement = {
    batches: state.batches,
    learner: learnerOf(shared, stage),
    critics,
    onPhase: (phase: "sampling" | "training") => emit({ type: "phase", phase }),
  };
  const record = await reinforcementStep(reinforcement, carried, state.step + 1, stageStep);
  reportRange(state, record.played.episodes);
  await state.recorder.reinforcementStep(record, stage.policies);
  await reportFlatRoles(state, record.metrics);
  state.step = record.metrics.step;
  state.auxiliary = { ...state.auxiliary, carried: record.carried };
}

/** Those of a resumed run start with the batch of its checkpoint. */
async function openBatches({ shared, stage, run }: TrainingState): Promise<Batches> {
  const play = playSetting(shared, stage);
  const { steps, maxLag } = stage.recipe.train;
  if ((maxLag ?? 0) === 0) return batchesOnDemand(play);
  const batches = new BatchesAhead({ play, engine: shared.engine, trained: stage.trained, steps });
  const { directory = "", state } = run.checkpoint ?? {};
  const nextBatch = state?.reinforcement?.nextBatch;
  if (nextBatch !== undefined) await batches.resume(directory, nextBatch);
  return batches;
}

async function reportFlatRoles(state: TrainingState, metrics: StepMetrics): Promise<void> {
  // A resumed run counts the steps before, which its records have.
  const before = state.recent ?? (await readMetrics(state.run.layout.directory)).slice(0, -1);
  state.recent = [...before, metrics].slice(-patience - 1);
  for (const warning of flatWarnings(state.recent, state.shared.algorithm))
    state.emit({ type: "warning", ...warning });
}

function reportRange(state: TrainingState, episodes: readonly Episode[]): void {
  if (state.isRangeReported) return;
  const warning = outsideRange(state.shared.environment, episodes);
  if (warning === null) return;
  state.emit({ type: "warning", ...warning });
  state.isRangeReported = true;
}
