/** How a run ends: with a result, interrupted, or stopped by a service or a budget. */
import path from "node:path";
import type { PolicyOptions, StoredPolicy } from "../engines/engine.ts";
import { savedDirectory } from "../engines/kind.ts";
import { BudgetError, OutageError, ServiceError } from "../errors.ts";
import { latestCheckpoint, type Checkpoint } from "../runs/checkpoints.ts";
import type { RunLayout } from "../runs/layout.ts";
import { readMetrics, readWatch } from "../runs/read.ts";
import {
  schemaVersion,
  type Evaluation,
  type RunResult,
  type StepMetrics,
  type Timing,
} from "../runs/records.ts";
import { sum } from "../statistics.ts";
import type { Listener } from "./events.ts";
import { summedCounts, TooManyFailures, Unrewarded } from "./failures.ts";
import { silenceOf } from "./interrupts.ts";
import { flatStreaks, patience } from "./metrics.ts";
import { bestEvaluation, checkpointsOf, keepStep } from "./recorder.ts";
import { showStep, type Run } from "./state.ts";

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

export async function finish(run: Run): Promise<TrainOutcome> {
  const result = await buildResult(run, await latestCheckpoint(run.folder.layout.checkpoints));
  await run.folder.recordResult(result);
  run.emit({ type: "finished", result, alreadyDone: false });
  return { status: "finished", result };
}

/** Stopped before anything of a step was trained: the weights are those of the last one, and a checkpoint saves them. */
export async function interrupt(run: Run): Promise<TrainOutcome> {
  try {
    await keepStep(run);
  } catch (error) {
    if (error instanceof ServiceError) return giveUp(run, error.message);
    throw error;
  }
  return giveUp(run);
}

/** @throws what the error means for the run, unless it is the consequence of an interruption */
export async function endWith(run: Run, error: unknown): Promise<TrainOutcome> {
  const { interrupts } = run;
  if (interrupts.isCause(error)) return interrupts.changing.aborted ? giveUp(run) : interrupt(run);
  if (error instanceof ServiceError || error instanceof OutageError) return withoutService(run, error);
  if (!(error instanceof BudgetError)) throw error;
  // As with too many failures, nothing of the step was trained yet.
  await keepStep(run);
  throw new BudgetError(`${error.message} ${await stoppedIn(run, "with it")}`);
}

/** After Ctrl-C this is not reported as a failure. */
async function withoutService(run: Run, error: ServiceError | OutageError): Promise<TrainOutcome> {
  if (error instanceof TooManyFailures || error instanceof OutageError) await tryToKeep(run);
  if (run.interrupts.reading.aborted) return giveUp(run, error.message);
  const until = error instanceof OutageError ? error.until : mendedBy(error);
  throw new ServiceError(`${error.message} ${await stoppedIn(run, `${until},`)}`, { cause: error });
}

function mendedBy({ cause }: Error): string {
  return cause instanceof Unrewarded ? "once the program gives rewards" : "once the service works";
}

/**
 * Nothing of the step was trained yet, so the weights are those of the step before, and a checkpoint saves them, unless
 * the service that failed is the engine's.
 */
async function tryToKeep(run: Run): Promise<void> {
  using _ = run.engine.failFast?.();
  await keepStep(run).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
  });
}

async function stoppedIn(run: Run, when: string): Promise<string> {
  const { recipe, step } = run;
  const last = (await checkpointsOf(run)).at(-1);
  const resumes = last === undefined ? "starts over" : `resumes after ${showStep(recipe, last)}`;
  return `The run stopped in ${showStep(recipe, step + 1)}; ${when} the same command ${resumes}.`;
}

async function giveUp(run: Run, because?: string): Promise<TrainOutcome> {
  const last = (await checkpointsOf(run)).at(-1) ?? null;
  return interrupted(run.emit, run.step, last, because ?? silenceOf(run.engine));
}

export function interrupted(
  emit: Listener | undefined,
  step: number,
  checkpoint: number | null,
  because: string | undefined,
): TrainOutcome {
  const found = { step, checkpoint, ...(because === undefined ? {} : { because }) };
  emit?.({ type: "interrupted", ...found });
  return { status: "interrupted", ...found };
}

/** Makes result.json from the records of a finished run. @param last null: no step was taken */
async function buildResult(run: Run, last: Checkpoint | null): Promise<RunResult> {
  const { recipe, engine, folder } = run;
  const evaluations = await folder.evaluations();
  const metrics = await readMetrics(folder.layout.directory);
  const sampledInTraining = sum(metrics.map(({ rollout }) => rollout?.sampledTokens ?? 0));
  // A run that was extended has an earlier evaluation of this kind.
  const final = (recipe.warmStart?.steps ?? 0) + recipe.train.steps;
  const best = await bestEvaluation(run);
  const watch = await readWatch(folder.layout.directory);
  const evaluated = sum(evaluations.map((row) => row.sampledTokens));
  return {
    schema_version: schemaVersion,
    recipe: recipe.name,
    seed: recipe.seed,
    engine: engine.description,
    steps: { warmStart: recipe.warmStart?.steps ?? 0, reinforcement: recipe.train.steps },
    policies: resultsOf(run, last, metrics),
    table: evaluations.filter(
      ({ moment, step }) => moment === "before" || (moment === "after" && step === final),
    ),
    ...(best === null ? {} : { best: { step: best.step, success: best.success, tasks: best.tasks } }),
    ...lossesOf(metrics, evaluations),
    ...(watch.length === 0 ? {} : { watch }),
    ...flatRolesOf(metrics),
    ...summedCounts([...metrics, ...evaluations].map(({ services }) => services)),
    tokens: {
      sampled: sampledInTraining + evaluated,
      sampledInTraining,
      trained: sum(metrics.flatMap(trainedTokens)),
    },
    seconds: secondsOf(await folder.timings()),
  };
}

function resultsOf(
  { folder, stage }: Run,
  last: Checkpoint | null,
  metrics: readonly StepMetrics[],
): RunResult["policies"] {
  const results = Object.entries(stage.policies).map(([name, { info, model }]) => {
    const saved = last?.state.policies[name];
    const directory = directoryOf(
      folder.layout,
      last === null || saved === undefined ? model : { saved, folder: last.directory },
    );
    const { parameters, trainableParameters } = info;
    const optimizerSteps = sum(metrics.map((step) => step.policies[name]?.optimizerSteps ?? 0));
    return [name, { parameters, trainableParameters, optimizerSteps, directory }] as const;
  });
  return Object.fromEntries(results);
}

type Losses = Pick<RunResult, "failedEpisodes" | "unrewardedActions" | "unjudgedActions">;

/** Only if there are any: services seldom fail. */
function lossesOf(metrics: readonly StepMetrics[], evaluations: readonly Evaluation[]): Losses {
  const inTraining = (key: "failed" | "unrewarded" | "unjudged") =>
    sum(metrics.map(({ rollout }) => rollout?.[key] ?? 0));
  const inEvaluations = (key: "failed" | "unjudged") => sum(evaluations.map((row) => row[key] ?? 0));
  const losses: Losses = {
    failedEpisodes: inTraining("failed") + inEvaluations("failed"),
    unrewardedActions: inTraining("unrewarded"),
    unjudgedActions: inTraining("unjudged") + inEvaluations("unjudged"),
  };
  return Object.fromEntries(Object.entries(losses).filter(([, count]) => count !== 0));
}

function flatRolesOf(metrics: readonly StepMetrics[]): Pick<RunResult, "flatRoles"> {
  const long = Object.entries(flatStreaks(metrics)).filter(([, steps]) => steps >= patience);
  return long.length === 0 ? {} : { flatRoles: Object.fromEntries(long) };
}

function trainedTokens(metrics: StepMetrics): number[] {
  return Object.values(metrics.policies).map(({ tokens }) => tokens);
}

/** Time of killed processes after their last checkpoint is not recorded and does not count. */
function secondsOf(timings: readonly Timing[]): RunResult["seconds"] {
  const of = (what: Timing["what"]) =>
    sum(timings.filter((timing) => timing.what === what).map(({ seconds }) => seconds));
  const [warmStart, reinforcement, evaluation] = [of("warm-start"), of("reinforcement"), of("evaluation")];
  return { warmStart, reinforcement, evaluation, total: warmStart + reinforcement + evaluation };
}

/**
 * The directory of a model, or of saved weights; for those kept elsewhere, the engine's name for them. A folder in the
 * run is relative to the run, so that the run can be moved.
 */
function directoryOf(layout: RunLayout, model: PolicyOptions["model"]): string {
  const directory = typeof model === "string" ? model : savedDirectory(model);
  if (directory === null) return (model as StoredPolicy).saved.location;

  const inside = path.relative(layout.directory, directory);
  return inside.startsWith("..") || path.isAbsolute(inside) ? directory : inside;
}
