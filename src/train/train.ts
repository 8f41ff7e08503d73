/**
 * The loop: warm start, evaluation, reinforcement, evaluation; checkpoints on the way. A run that was interrupted, by a
 * signal or by `kill -9`, goes on from its last checkpoint and ends with the same weights and records.
 */
import path from "node:path";
import type { Engine, SavedPolicy } from "../engines/engine.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import { rootKey } from "../random.ts";
import { changedModules } from "../recipes/modules/changed.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import { recipeWarnings } from "../recipes/validation/warnings.ts";
import { recipeToYaml } from "../recipes/write.ts";
import { checkpointSteps, latestCheckpoint } from "../runs/checkpoints.ts";
import { schemaVersion } from "../runs/records.ts";
import type { RunResult } from "../runs/records.ts";
import { readRecipeText } from "../runs/read.ts";
import { openRun } from "../runs/run.ts";
import type { Run } from "../runs/run.ts";
import { openCompanions, saveCompanions } from "./companions.ts";
import type { Companions } from "./companions.ts";
import { episodeRecords, sampleEpisode } from "./episode-records.ts";
import { noteEngine } from "./engine-change.ts";
import { evaluateAfter } from "./evaluations.ts";
import type { Listener, Stage } from "./events.ts";
import { basesOf, settleBases, taughtModels, warmStartRecipe } from "./bases.ts";
import { openPolicies, restorePolicies, savePolicies } from "./policies.ts";
import type { OpenPolicies } from "./policies.ts";
import { reinforcementStep } from "./reinforcement.ts";
import { TooManyFailures } from "./failures.ts";
import { buildResult } from "./result.ts";
import type { Resolved, Session } from "./session.ts";
import { learningPolicies, namedTeams, taughtPolicies, trainedPolicies } from "./teams.ts";
import { warmStartStep } from "./warm-start.ts";
import type { StepRecord } from "./warm-start.ts";

export interface TrainOptions extends Resolved {
  /** The run's folder; made where there is none, gone on with where there is one of the same recipe. */
  readonly directory: string;
  /** Its policies are made by the run; whoever made the engine closes it. */
  readonly engine: Engine;
  readonly onEvent?: Listener;
  /** Aborted: the step in progress is finished, a checkpoint is made, and the run ends as interrupted. */
  readonly stop?: AbortSignal;
  /** Aborted: the engine's work is cancelled; what was done since the last checkpoint is lost. */
  readonly cancel?: AbortSignal;
  /** Episodes written to the run's folder: those of every n-th step, and how many of each. Default: 1 and 4. */
  readonly episodes?: { readonly every: number; readonly perStep: number };
}

export type TrainOutcome =
  | { readonly status: "finished"; readonly result: RunResult }
  /** `checkpoint`: the step that the same call goes on after; null: from the beginning. */
  | { readonly status: "interrupted"; readonly step: number; readonly checkpoint: number | null };

/** What changes from stage to stage; with a warm start of bases (bases.ts) even the policies do. */
type OfStage = Pick<Session, "recipe" | "policies" | "teams" | "trained"> & { readonly opened: OpenPolicies };

interface Course extends Omit<Session, keyof OfStage>, Mutable<OfStage> {
  readonly run: Run;
  /** As it was given. */
  readonly whole: Recipe;
  readonly warmSteps: number;
  readonly totalSteps: number;
  readonly stop: AbortSignal | undefined;
  readonly episodes: { readonly every: number; readonly perStep: number };
  /** Steps done, counted over both stages. */
  step: number;
  /** What a warm start of bases taught, once it is over. */
  bases: Readonly<Record<string, SavedPolicy>> | undefined;
  /** Null until reinforcement begins or goes on. */
  companions: Companions | null;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Trains, or goes on training. Throws `bad_run`, `bad_model`, `bad_recipe` (diverged) and the engine's errors. */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  await using run = await openRun(options.directory, recipeToYaml(options.recipe, options.directory));
  if (run.result !== null) {
    options.onEvent?.({ type: "finished", result: run.result, alreadyDone: true });
    return { status: "finished", result: run.result };
  }
  const course = await begin(options, run);
  try {
    return (await advance(course)) ? await finish(course) : await interrupt(course);
  } catch (error) {
    const isCancelled = error instanceof TroupeError && error.code === "cancelled";
    if (isCancelled && options.cancel?.aborted === true) return giveUp(course);
    if (error instanceof ServiceError) throw await stopped(course, error);
    throw error;
  }
}

async function begin(options: TrainOptions, run: Run): Promise<Course> {
  const { recipe, environment, engine, onEvent } = options;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const step = run.checkpoint?.state.step ?? 0;
  const { stage = placeOf({ warmSteps }, 1).stage, bases } = run.checkpoint?.state ?? {};
  const course: Course = {
    ...(await openStage(options, run, stage, bases)),
    whole: recipe,
    environment,
    algorithm: options.algorithm,
    engine,
    root: rootKey(recipe.seed),
    emit: onEvent ?? (() => {}),
    cancel: options.cancel,
    run,
    warmSteps,
    totalSteps: warmSteps + recipe.train.steps,
    stop: options.stop,
    episodes: options.episodes ?? { every: 1, perStep: 4 },
    step,
    bases,
    companions: null,
  };
  announce(course);
  for (const warning of await warningsOf(options, run)) course.emit({ type: "warning", ...warning });
  await noteEngine(course);
  if (run.checkpoint !== null) await resume(course, run.checkpoint);
  if (warmSteps > 0 && step === warmSteps) await leaveWarmStart(course);
  return course;
}

async function warningsOf(options: TrainOptions, { layout }: Run): Promise<readonly Warning[]> {
  const changed = changedModules(await readRecipeText(layout.directory), options.recipe);
  return [...recipeWarnings(options), ...changed];
}

async function openStage(
  { recipe: whole, environment, engine }: Pick<TrainOptions, "recipe" | "environment" | "engine">,
  { layout }: Run,
  stage: Stage,
  bases: Course["bases"],
): Promise<OfStage> {
  const isWarm = stage === "warm-start";
  const recipe = isWarm ? warmStartRecipe(whole) : whole;
  const taught = isWarm ? undefined : taughtModels(whole, layout.models, bases ?? {});
  const opened = await openPolicies(engine, recipe, environment, layout.models, taught);
  const trained = isWarm ? taughtPolicies(recipe) : learningPolicies(recipe);
  return { recipe, opened, policies: opened, teams: namedTeams(recipe, environment), trained };
}

/** What the warm start taught is where the policies begin; those that learn no more are not trained any further. */
async function leaveWarmStart(course: Course): Promise<void> {
  const { engine, whole, opened, run } = course;
  course.trained = learningPolicies(whole);
  if (basesOf(whole).size === 0) return;
  course.bases = await settleBases(engine, whole, opened, run.layout.models);
  Object.assign(course, await openStage({ ...course, recipe: whole }, run, "reinforcement", course.bases));
}

function announce({ emit, run, recipe, engine, opened, trained, warmSteps }: Course): void {
  emit({
    type: "run-started",
    run: path.basename(run.layout.directory),
    recipe: recipe.name,
    engine: engine.description,
    policies: Object.values(opened).map(({ info }) => ({
      name: info.name,
      parameters: info.parameters,
      trainableParameters: info.trainableParameters,
      trained: trained.has(info.name),
    })),
    steps: { "warm-start": warmSteps, reinforcement: recipe.train.steps },
  });
}

async function resume(course: Course, { directory, state }: NonNullable<Run["checkpoint"]>): Promise<void> {
  await restorePolicies(course.engine, directory, state.policies);
  course.emit({ type: "resumed", step: state.step, stage: state.stage, stageStep: state.stageStep });
}

/** Does every step that is left. False: stopped before the end. */
async function advance(course: Course): Promise<boolean> {
  let stage: Stage | null = null;
  while (await evaluateAfter(course, course.run, course.step, course.stop)) {
    if (course.step === course.totalSteps) return true;
    if (course.stop?.aborted === true) return false;
    const next = placeOf(course, course.step + 1);
    if (next.stage !== stage) announceStage(course, next.stage, next.stageStep - 1);
    stage = next.stage;
    await takeStep(course, next.stage, next.stageStep);
    if (isCheckpointDue(course)) await checkpoint(course);
    if (course.step === course.warmSteps) await leaveWarmStart(course);
  }
  return false;
}

function placeOf(
  { warmSteps }: Pick<Course, "warmSteps">,
  step: number,
): { stage: Stage; stageStep: number } {
  return step <= warmSteps
    ? { stage: "warm-start", stageStep: step }
    : { stage: "reinforcement", stageStep: step - warmSteps };
}

function announceStage({ emit, warmSteps, recipe }: Course, stage: Stage, done: number): void {
  emit({
    type: "stage-started",
    stage,
    steps: stage === "warm-start" ? warmSteps : recipe.train.steps,
    done,
  });
}

async function takeStep(course: Course, stage: Stage, stageStep: number): Promise<void> {
  if (stage === "warm-start") await commit(course, await warmStartStep(course, stageStep), []);
  else await reinforceOnce(course, stageStep);
}

async function reinforceOnce(course: Course, stageStep: number): Promise<void> {
  const { every, perStep } = course.episodes;
  course.companions ??= await openCompanions(course, course.run.layout, course.run.checkpoint);
  const { played, credited, carried, ...record } = await reinforcementStep(
    course,
    course.companions,
    course.step + 1,
    stageStep,
  );
  const isKept = every > 0 && (stageStep - 1) % every === 0;
  await commit(course, record, isKept ? episodeRecords(played.kept, credited, perStep) : []);
  course.companions = { ...course.companions, carried };
  const samples = played.episodes.slice(0, 1).map((episode) => sampleEpisode(course.environment, episode));
  const shown = samples.filter((sample) => sample !== null);
  course.emit({ type: "sample-episodes", step: course.step, episodes: shown });
}

async function commit(
  course: Course,
  { metrics, timing }: StepRecord,
  episodes: ReturnType<typeof episodeRecords>,
): Promise<void> {
  await course.run.recordStep(metrics, timing, episodes);
  course.step = metrics.step;
  course.emit({ type: "step", metrics, timing });
}

function isCheckpointDue({ step, warmSteps, totalSteps, recipe }: Course): boolean {
  const stageStep = step <= warmSteps ? step : step - warmSteps;
  return step === warmSteps || step === totalSteps || stageStep % recipe.checkpoint.every === 0;
}

async function checkpoint(course: Course): Promise<void> {
  const { engine, recipe, run, step, trained, bases, companions } = course;
  course.emit({ type: "phase", phase: "saving" });
  const { directory } = await run.recordCheckpoint(step, recipe.checkpoint.keep, async (folder) => ({
    schema_version: schemaVersion,
    step,
    ...placeOf(course, step),
    policies: await savePolicies(engine, folder, trainedPolicies(recipe), trained),
    ...(bases === undefined ? {} : { bases }),
    ...(companions === null ? {} : { reinforcement: await saveCompanions(engine, folder, companions) }),
  }));
  course.emit({ type: "checkpoint", step, directory });
}

async function finish(course: Course): Promise<TrainOutcome> {
  const { run, opened, emit } = course;
  const result = await buildResult(course, run, opened, await latestCheckpoint(run.layout.checkpoints));
  await run.recordResult(result);
  emit({ type: "finished", result, alreadyDone: false });
  return { status: "finished", result };
}

/** Stopped between steps: the weights are those of the last step, and a checkpoint keeps them. */
async function interrupt(course: Course): Promise<TrainOutcome> {
  if (course.step > 0 && !(await lastCheckpoints(course)).includes(course.step)) await checkpoint(course);
  return giveUp(course);
}

/** Where nothing of a step was trained yet, the weights are those of the step before, and a checkpoint keeps them. */
async function stopped(course: Course, error: ServiceError): Promise<ServiceError> {
  if (error instanceof TooManyFailures) await interrupt(course);
  const last = (await lastCheckpoints(course)).at(-1);
  const resumes = last === undefined ? "begins anew" : `resumes after step ${last}`;
  return new ServiceError(
    `${error.message} The run stopped in step ${course.step + 1}; once the service works, the same command ${resumes}.`,
    { cause: error },
  );
}

async function giveUp(course: Course): Promise<TrainOutcome> {
  const { step, emit } = course;
  const last = (await lastCheckpoints(course)).at(-1) ?? null;
  emit({ type: "interrupted", step, checkpoint: last });
  return { status: "interrupted", step, checkpoint: last };
}

function lastCheckpoints({ run }: Course): Promise<number[]> {
  return checkpointSteps(run.layout.checkpoints);
}
