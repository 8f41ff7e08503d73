/**
 * The loop: warm start, evaluation, reinforcement, evaluation, with checkpoints. A run that was interrupted, by a
 * signal or by `kill -9`, resumes from its last checkpoint and ends with the same weights and records.
 *
 * `train` opens the run's folder; `stage.ts` sets up each stage; `recorder.ts` writes records and emits events.
 */
import path from "node:path";
import type { Engine } from "../engines/engine.ts";
import { retryingEngine } from "../engines/retrying.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import type { Services } from "../environments/environment.ts";
import { rootKey } from "../random.ts";
import { incidentalOptions } from "../recipes/judge-row.ts";
import { changedModules, moduleHashes } from "../recipes/modules/changed.ts";
import { recipeWarnings } from "../recipes/validation/warnings.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import { recipeToYaml } from "../recipes/write.ts";
import type { Episode } from "../rollout/episode.ts";
import { checkpointSteps, latestCheckpoint } from "../runs/checkpoints.ts";
import { schemaVersion } from "../runs/records.ts";
import type { RunResult } from "../runs/records.ts";
import { readRecipe } from "../runs/read.ts";
import { openRun } from "../runs/run.ts";
import { openRecordedCalls, unrecordedCalls, type RecordedCalls } from "../runs/recorded-calls.ts";
import type { Run } from "../runs/run.ts";
import { openAuxiliaryModels, saveAuxiliaryModels } from "./auxiliary.ts";
import type { AuxiliaryModels } from "./auxiliary.ts";
import { noteData } from "./data-change.ts";
import { noteEngine } from "./engine-change.ts";
import { evaluateAfter } from "./evaluations.ts";
import type { Listener, Stage } from "./events.ts";
import { retriesOf, TooManyFailures } from "./failures.ts";
import { startJudging, type Judging } from "./judging.ts";
import { restorePolicies, savePolicies } from "./policies.ts";
import { makeRecorder } from "./recorder.ts";
import type { Recorder } from "./recorder.ts";
import { reinforcementStep } from "./reinforcement.ts";
import { outsideRange } from "./reward-range.ts";
import { buildResult } from "./result.ts";
import type { Resolved } from "./resolved.ts";
import { servicesOf } from "./services.ts";
import { leaveWarmStart, learnerOf, openStage, playSetting, warmStartOf } from "./stage.ts";
import type { Shared, StageState, TaughtBases } from "./stage.ts";
import type { StepRecord } from "./step-record.ts";
import { trainedPolicies } from "./teams.ts";
import { warmStartSteps } from "./warm-start.ts";

export interface TrainOptions extends Resolved {
  /** The run's folder; created, or resumed if it holds a run of the same recipe. */
  readonly directory: string;
  /**
   * The run creates its policies in it; the caller closes it. Verbs that a service fails are retried as in the recipe's
   * `failures`.
   */
  readonly engine: Engine;
  readonly onEvent?: Listener;
  /** Aborted: the current step is finished, a checkpoint is made, and the run ends as interrupted. */
  readonly stop?: AbortSignal;
  /** Aborted: the engine's work is cancelled; anything since the last checkpoint is lost. */
  readonly cancel?: AbortSignal;
}

export type TrainOutcome =
  | { readonly status: "finished"; readonly result: RunResult }
  /** `checkpoint`: the step after which the same call resumes; null: it starts over. */
  | { readonly status: "interrupted"; readonly step: number; readonly checkpoint: number | null };

/** The state of a run. Only this file changes it; the parts of the loop get what they use. */
interface TrainingState {
  readonly run: Run;
  readonly recorder: Recorder;
  readonly shared: Shared;
  readonly emit: Listener;
  readonly stop: AbortSignal | undefined;
  /** Steps done, counted over both stages. */
  step: number;
  stage: StageState;
  bases: TaughtBases;
  warmStartStep: ((stageStep: number) => Promise<StepRecord>) | null;
  /** Rewards outside their range have been reported. */
  isRangeReported: boolean;
  /** Null until reinforcement starts or is resumed. */
  auxiliary: AuxiliaryModels | null;
}

/**
 * Trains, or resumes. @throws TroupeError `bad_run`, `bad_model`, `bad_recipe` (diverged), `service`, and the engine's
 * errors
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  const { recipe, directory } = options;
  await using run = await openRun(
    directory,
    recipeToYaml(recipe, directory),
    incidentalOptions(recipe.judge),
  );
  if (run.result !== null) {
    options.onEvent?.({ type: "finished", result: run.result, alreadyDone: true });
    return { status: "finished", result: run.result };
  }
  const services = await servicesOf(run);
  try {
    return await trainIn(options, run, services);
  } finally {
    await services.close();
  }
}

async function trainIn(options: TrainOptions, run: Run, services: Services): Promise<TrainOutcome> {
  const { judge } = options;
  const verdicts = judge === undefined ? unrecordedCalls() : await openRecordedCalls(run.layout.verdicts);
  const judging = openJudging(options, verdicts);
  try {
    return await trainWith(options, run, { services, verdicts, judging });
  } finally {
    await judging?.close();
  }
}

/** What a run opens, and closes at its end. */
type Opened = Pick<Shared, "services" | "verdicts" | "judging">;

async function trainWith(options: TrainOptions, run: Run, opened: Opened): Promise<TrainOutcome> {
  const state = await begin(options, run, opened);
  try {
    return (await advance(state)) ? await finish(state) : await interrupt(state);
  } catch (error) {
    const isCancelled = error instanceof TroupeError && error.code === "cancelled";
    if (isCancelled && options.cancel?.aborted === true) return giveUp(state);
    if (error instanceof ServiceError) throw await stopped(state, error);
    throw error;
  }
}

async function begin(options: TrainOptions, run: Run, opened: Opened): Promise<TrainingState> {
  const { recipe, environment, algorithm, judge, cancel } = options;
  const engine = retryingEngine(options.engine, retriesOf(recipe));
  const { step = 0, stage = placeOf(recipe, 1).stage, bases } = run.checkpoint?.state ?? {};
  const emit = options.onEvent ?? (() => {});
  const resolved = { recipe, environment, algorithm, ...(judge === undefined ? {} : { judge }) };
  const shared = { ...resolved, ...opened, engine, root: rootKey(recipe.seed), cancel };
  const state: TrainingState = {
    run,
    recorder: makeRecorder(run, options, emit),
    shared,
    emit,
    stop: options.stop,
    step,
    stage: await openStage(shared, run.layout.models, stage, bases),
    bases,
    warmStartStep: null,
    isRangeReported: false,
    auxiliary: null,
  };
  announce(state);
  const warnings = [...(await warningsOf(options, run)), ...(await noteData(environment, run))];
  for (const warning of warnings) emit({ type: "warning", ...warning });
  await noteEngine(engine, run, step, emit);
  await run.recordModules(moduleHashes(recipe));
  if (run.checkpoint !== null) await restore(state, run.checkpoint);
  if (step > 0 && step === recipe.warmStart?.steps) await endWarmStart(state);
  return state;
}

function openJudging({ recipe, judge, cancel }: TrainOptions, calls: RecordedCalls): Judging | null {
  const context = { calls, retries: retriesOf(recipe), signal: cancel };
  return judge === undefined ? null : startJudging(judge, context, recipe.failures.limit);
}

async function warningsOf(options: TrainOptions, { layout }: Run): Promise<readonly Warning[]> {
  const changed = changedModules(await readRecipe(layout.directory), options.recipe);
  return [...recipeWarnings(options), ...changed];
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

async function endWarmStart(state: TrainingState): Promise<void> {
  const left = await leaveWarmStart(state.shared, state.stage, state.run.layout.models);
  state.stage = left.state;
  state.bases = left.bases ?? state.bases;
}

/** Does every remaining step. False: stopped before the end. */
async function advance(state: TrainingState): Promise<boolean> {
  const { recipe } = state.shared;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  let stage: Stage | null = null;
  while (await evaluate(state)) {
    if (state.step === warmSteps + recipe.train.steps) return true;
    if (state.stop?.aborted === true) return false;
    const next = placeOf(recipe, state.step + 1);
    if (next.stage !== stage) announceStage(state, next.stage, next.stageStep - 1);
    stage = next.stage;
    await takeStep(state, next);
    if (isCheckpointDue(state)) await checkpoint(state);
    if (state.step === warmSteps) await endWarmStart(state);
  }
  return false;
}

interface Place {
  readonly stage: Stage;
  readonly stageStep: number;
}

function placeOf({ warmStart }: Shared["recipe"], step: number): Place {
  const warmSteps = warmStart?.steps ?? 0;
  return step <= warmSteps
    ? { stage: "warm-start", stageStep: step }
    : { stage: "reinforcement", stageStep: step - warmSteps };
}

function announceStage({ emit, shared: { recipe } }: TrainingState, stage: Stage, done: number): void {
  const steps = stage === "warm-start" ? (recipe.warmStart?.steps ?? 0) : recipe.train.steps;
  emit({ type: "stage-started", stage, steps, done });
}

async function evaluate({ shared, stage, run, recorder, emit, step, stop }: TrainingState): Promise<boolean> {
  const { environment, engine, judge, verdicts: calls, services, cancel } = shared;
  const judging = judge?.evaluation === true ? { judge, calls } : null;
  const evaluations = { ...stage, environment, services, engine, judging, emit, recorder };
  return evaluateAfter(evaluations, await run.evaluations(), step, { stop, cancel });
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
  const { critics, carried } = state.auxiliary;
  const reinforcement = {
    play: playSetting(shared, stage),
    learner: learnerOf(shared, stage),
    critics,
    onPhase: (phase: "sampling" | "training") => emit({ type: "phase", phase }),
  };
  const record = await reinforcementStep(reinforcement, carried, state.step + 1, stageStep);
  reportRange(state, record.played.episodes);
  await state.recorder.reinforcementStep(record, stage.policies);
  state.step = record.metrics.step;
  state.auxiliary = { ...state.auxiliary, carried: record.carried };
}

function reportRange(state: TrainingState, episodes: readonly Episode[]): void {
  if (state.isRangeReported) return;
  const warning = outsideRange(state.shared.environment, episodes);
  if (warning === null) return;
  state.emit({ type: "warning", ...warning });
  state.isRangeReported = true;
}

function isCheckpointDue({ step, shared: { recipe } }: TrainingState): boolean {
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const { stageStep } = placeOf(recipe, step);
  const isLast = step === warmSteps || step === warmSteps + recipe.train.steps;
  return isLast || stageStep % recipe.checkpoint.every === 0;
}

async function checkpoint({
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

async function finish({ shared, stage, run, recorder }: TrainingState): Promise<TrainOutcome> {
  const { recipe, engine } = shared;
  const last = await latestCheckpoint(run.layout.checkpoints);
  const result = await buildResult(recipe, engine.description, run, stage.policies, last);
  await recorder.result(result);
  return { status: "finished", result };
}

/** Stopped between steps: the weights are those of the last step, and a checkpoint saves them. */
async function interrupt(state: TrainingState): Promise<TrainOutcome> {
  await keepStep(state);
  return giveUp(state);
}

async function keepStep(state: TrainingState): Promise<void> {
  if (state.step > 0 && !(await checkpointsOf(state)).includes(state.step)) await checkpoint(state);
}

/** If nothing of a step was trained yet, the weights are those of the step before, and a checkpoint saves them. */
async function stopped(state: TrainingState, error: ServiceError): Promise<ServiceError> {
  if (error instanceof TooManyFailures) await keepStep(state);
  const last = (await checkpointsOf(state)).at(-1);
  const resumes = last === undefined ? "starts over" : `resumes after step ${last}`;
  return new ServiceError(
    `${error.message} The run stopped in step ${state.step + 1}; once the service works, the same command ${resumes}.`,
    { cause: error },
  );
}

async function giveUp(state: TrainingState): Promise<TrainOutcome> {
  const { step, emit } = state;
  const checkpointed = (await checkpointsOf(state)).at(-1) ?? null;
  emit({ type: "interrupted", step, checkpoint: checkpointed });
  return { status: "interrupted", step, checkpoint: checkpointed };
}

function checkpointsOf({ run }: TrainingState): Promise<number[]> {
  return checkpointSteps(run.layout.checkpoints);
}
