/**
 * Warm start, evaluation, reinforcement, evaluation, with checkpoints. A run that was interrupted, by a signal or by
 * `kill -9`, resumes from its last checkpoint and ends with the same weights and records.
 *
 * `train` opens what a run needs and ends it; `begin.ts` makes or restores its state, `advance.ts` does its steps.
 */
import { unrecordedCalls, type RecordedCalls } from "../calls/recorded.ts";
import { command } from "../command-line.ts";
import { BudgetError, OutageError, ServiceError, TroupeError } from "../errors.ts";
import { startLogging } from "../logging/start.ts";
import { isPresentSync } from "../present.ts";
import { incidentalOptions } from "../recipes/catalog.ts";
import { showPath } from "../recipes/tree.ts";
import { yamlOfRun } from "../recipes/write.ts";
import { latestCheckpoint } from "../runs/checkpoints.ts";
import { openRecordedCalls } from "../runs/recorded-calls.ts";
import type { RunResult } from "../runs/records.ts";
import { openRun, removeUnbegun, type Run } from "../runs/run.ts";
import { buildTeam } from "../teams/build.ts";
import { advance } from "./advance.ts";
import { attendServers, silenceOf } from "./attend-servers.ts";
import { begin, type Opened } from "./begin.ts";
import { checkpointsOf, keepStep } from "./checkpoint.ts";
import type { Listener } from "./events.ts";
import { retriesOf, TooManyFailures } from "./failures.ts";
import { Interrupts, samplingSignal } from "./interrupts.ts";
import { startJudging, type Judging } from "./judging.ts";
import { openTools } from "./open-tools.ts";
import type { TrainOptions } from "./options.ts";
import { buildResult } from "./result.ts";
import { servicesOf } from "./services.ts";
import { namedTeams } from "./teams.ts";
import { showStep, type TrainingState } from "./training-state.ts";

export type TrainOutcome =
  | { readonly status: "finished"; readonly result: RunResult }
  | {
      readonly status: "interrupted";
      readonly step: number;
      /** The step after which the same call resumes; null: it starts over. */
      readonly checkpoint: number | null;
      /** Why the step in progress could not be finished, or saved. Absent: it was. */
      readonly because?: string;
    };

/**
 * Trains, or resumes. @throws TroupeError `bad_run`, `bad_model`, `bad_recipe` (diverged), `service`, and the engine's
 * errors
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  const isNew = !isPresentSync(options.directory);
  try {
    const outcome = await trainInFolder(options);
    if (isNew && outcome.status === "interrupted" && outcome.step === 0)
      await removeUnbegun(options.directory);
    return outcome;
  } catch (error) {
    // It would be listed as a run.
    if (isNew) await removeUnbegun(options.directory);
    throw error;
  }
}

async function trainInFolder(options: TrainOptions): Promise<TrainOutcome> {
  const { recipe, directory } = options;
  using interrupts = new Interrupts(options);
  await using run = await openRun(
    directory,
    await yamlOfRun(recipe, directory),
    incidentalOptions(recipe.judge),
  );
  if (run.result !== null) {
    options.onEvent?.({ type: "finished", result: run.result, alreadyDone: true });
    return { status: "finished", result: run.result };
  }
  using _ = attendServers(options);
  const logging = startLogging(directory, recipe.logging, (problem) =>
    options.onEvent?.({ type: "warning", key: "logging", problem, fix: exportLater(run) }),
  );
  try {
    return await trainServed(options, run, interrupts);
  } catch (error) {
    if (!interrupts.isCause(error)) throw error;
    const step = run.checkpoint?.state.step ?? 0;
    const last = run.checkpoint === null ? null : step;
    return interrupted(options.onEvent, step, last, silenceOf(options.engine));
  } finally {
    logging.end();
  }
}

async function trainServed(options: TrainOptions, run: Run, interrupts: Interrupts): Promise<TrainOutcome> {
  const services = await servicesOf(run);
  try {
    // What is missing is reported now, and not after a warm start.
    if (run.checkpoint === null) options.environment.checkMachine?.();
    const { runsPrograms, packages } = options.environment;
    if (runsPrograms === true) await interrupts.read(services.openSandbox(packages));
    const teams = namedTeams(options.recipe, options.environment);
    await interrupts.read(openTools(teams, services, retriesOf(options.recipe), interrupts.reading));
    return await trainIn(options, run, { services, interrupts });
  } finally {
    await services.close();
  }
}

function exportLater({ layout }: Run): string {
  const exporting = command("runs", "export", showPath(layout.directory), "--to", "SINK");
  return `training continues; \`${exporting}\` sends later what is missing`;
}

async function trainIn(
  options: TrainOptions,
  run: Run,
  opened: Pick<Opened, "services" | "interrupts">,
): Promise<TrainOutcome> {
  const { judge } = options;
  const verdicts = judge === undefined ? unrecordedCalls() : await openRecordedCalls(run.layout.verdicts);
  const judging = openJudging(options, run, verdicts, opened);
  try {
    return await trainWith(options, run, { ...opened, verdicts, judging });
  } finally {
    await judging?.close();
  }
}

async function trainWith(options: TrainOptions, run: Run, opened: Opened): Promise<TrainOutcome> {
  const state = await opened.interrupts.read(begin(options, run, opened));
  try {
    return (await advance(state)) ? await finish(state) : await interrupt(state);
  } catch (error) {
    if (opened.interrupts.isCause(error))
      return await (opened.interrupts.changing.aborted ? giveUp(state) : interrupt(state));
    if (error instanceof ServiceError || error instanceof OutageError)
      return await withoutService(state, error);
    if (error instanceof BudgetError) throw await stoppedForBudget(state, error);
    throw error;
  } finally {
    await state.batches?.close();
  }
}

function openJudging(
  options: TrainOptions,
  { layout }: Run,
  calls: RecordedCalls,
  { interrupts, services: { log } }: Pick<Opened, "services" | "interrupts">,
): Judging | null {
  const { recipe, environment, judge, onEvent } = options;
  const signal = samplingSignal(recipe, interrupts);
  if (judge === undefined) return null;
  const report = (notice: string) => onEvent?.({ type: "judge-paused", notice });
  const team = buildTeam(recipe.team, environment);
  const show = command("coach", "show", showPath(layout.directory), "--failures");
  const context = { environment, team, calls, retries: retriesOf(recipe), log, signal, report, show };
  return startJudging(judge, context, recipe.failures.limit);
}

async function finish({ shared, stage, run, recorder }: TrainingState): Promise<TrainOutcome> {
  const { recipe, engine } = shared;
  const last = await latestCheckpoint(run.layout.checkpoints);
  const result = await buildResult(recipe, engine.description, run, stage.policies, last);
  await recorder.result(result);
  return { status: "finished", result };
}

/** Stopped before anything of a step was trained: the weights are those of the last one, and a checkpoint saves them. */
async function interrupt(state: TrainingState): Promise<TrainOutcome> {
  try {
    await keepStep(state);
  } catch (error) {
    if (error instanceof ServiceError) return giveUp(state, error.message);
    throw error;
  }
  return giveUp(state);
}

/**
 * Nothing of the step was trained yet, so the weights are those of the step before, and a checkpoint saves them, unless
 * the service that failed is the engine's.
 */
async function tryToKeep(state: TrainingState): Promise<void> {
  using _ = state.shared.engine.failFast?.();
  await keepStep(state).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
  });
}

/** Somebody who wants the end anyway need not know it as a failure. */
async function withoutService(
  state: TrainingState,
  error: ServiceError | OutageError,
): Promise<TrainOutcome> {
  if (error instanceof TooManyFailures || error instanceof OutageError) await tryToKeep(state);
  if (state.shared.interrupts.reading.aborted) return giveUp(state, error.message);
  throw await stopped(state, error);
}

async function stopped(state: TrainingState, error: ServiceError | OutageError): Promise<TroupeError> {
  const last = (await checkpointsOf(state)).at(-1);
  const { recipe } = state.shared;
  const resumes = last === undefined ? "starts over" : `resumes after ${showStep(recipe, last)}`;
  const until = error instanceof OutageError ? error.until : "once the service works";
  return new ServiceError(
    `${error.message} The run stopped in ${showStep(recipe, state.step + 1)}; ${until}, the same command ${resumes}.`,
    { cause: error },
  );
}

/** As with too many failures, nothing of the step was trained yet. */
async function stoppedForBudget(state: TrainingState, error: BudgetError): Promise<BudgetError> {
  await keepStep(state);
  const last = (await checkpointsOf(state)).at(-1);
  const { recipe } = state.shared;
  const resumes = last === undefined ? "starts over" : `resumes after ${showStep(recipe, last)}`;
  return new BudgetError(
    `${error.message} The run stopped in ${showStep(recipe, state.step + 1)}; with it the same command ${resumes}.`,
  );
}

async function giveUp(state: TrainingState, because?: string): Promise<TrainOutcome> {
  const { shared, emit, step } = state;
  return interrupted(
    emit,
    step,
    (await checkpointsOf(state)).at(-1) ?? null,
    because ?? silenceOf(shared.engine),
  );
}

function interrupted(
  emit: Listener | undefined,
  step: number,
  checkpoint: number | null,
  because: string | undefined,
): TrainOutcome {
  const found = { step, checkpoint, ...(because === undefined ? {} : { because }) };
  emit?.({ type: "interrupted", ...found });
  return { status: "interrupted", ...found };
}
