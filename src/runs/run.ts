/**
 * A run being written. Opening one takes its lock and rewinds the folder to its last checkpoint: later records of an
 * interrupted process are truncated, because those steps will be repeated with the same result.
 */
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { ifPresent, isPresent, statOf } from "../present.ts";
import { showText } from "../format.ts";
import { checkpointSteps, latestCheckpoint, pruneCheckpoints, writeCheckpoint } from "./checkpoints.ts";
import type { Checkpoint } from "./checkpoints.ts";
import { makeDirectory, removeTemporaries, syncPath, temporaryPrefix, writeFileDurably } from "./durable.ts";
import { appendLine, cutLines, readLines } from "./json-lines.ts";
import { EpisodeLog } from "./episode-log.ts";
import type { NewEpisode } from "./episode-log.ts";
import { layoutOf } from "./layout.ts";
import type { RunLayout } from "./layout.ts";
import { acquireLock, lockPrefix } from "./lock.ts";
import { inputRecorder, type InputRecorder } from "./input-recorder.ts";
import { readEvaluations, readResult, readTimings } from "./read.ts";
import { readRegular } from "./regular.ts";
import type { Evaluation, RunResult, StepMetrics, Timing, WatchRecord } from "./records.ts";
import type { CheckpointState, RunState } from "./checkpoint-state.ts";
import { isSameTraining, trainingLines, type Incidental } from "./same-training.ts";
import { TrajectoryLog } from "./trajectory-log.ts";

export interface Run extends AsyncDisposable, InputRecorder {
  readonly layout: RunLayout;
  /** Where to resume; null: from the start. */
  readonly checkpoint: Checkpoint | null;
  /** Recorded steps after the checkpoint, whose records were removed because they will be repeated. */
  readonly repeated: number;
  /** The run is finished. */
  readonly result: RunResult | null;
  /** Of programs that drive themselves: what ended since the checkpoint. */
  readonly trajectories: TrajectoryLog;
  /** Evaluations recorded up to the checkpoint, and later ones. */
  evaluations(): Promise<Evaluation[]>;
  timings(): Promise<Timing[]>;
  /** Commits a step: its episodes and timing first, its metrics last. */
  recordStep(metrics: StepMetrics, timing: Timing, episodes: readonly NewEpisode[]): Promise<void>;
  /** Stores an episode of an evaluation in progress. It counts once the evaluation is recorded. */
  recordEpisode(episode: NewEpisode): Promise<void>;
  recordEvaluation(evaluation: Evaluation, timing: Timing): Promise<void>;
  /** Counts once a later step is in a checkpoint: until then what is recorded after its step is done again. */
  recordWatch(record: WatchRecord): Promise<void>;
  /**
   * `fill` saves the policies in the given folder and returns the state. Older checkpoints beyond `keep` are deleted,
   * but for that of the step `best`.
   */
  recordCheckpoint(
    step: number,
    kept: { readonly keep: number; readonly best: number | null },
    fill: (directory: string) => Promise<RunState>,
  ): Promise<Checkpoint>;
  /** Deletes what `recordCheckpoint` would delete now. */
  pruneCheckpoints(kept: { readonly keep: number; readonly best: number | null }): Promise<void>;
  recordResult(result: RunResult): Promise<void>;
  /** Releases the lock. */
  close(): Promise<void>;
}

/**
 * Opens the folder for writing; creates it if it does not exist.
 *
 * @throws TroupeError `in_use`: written by another process; `bad_run`: of another recipe, not a run folder, damaged, or not
 * writable
 *
 * @param recipe The resolved recipe as YAML. A run only resumes with the recipe it started with; the description,
 * expected numbers and the recording settings may differ.
 */
export async function openRun(directory: string, recipe: string, incidental?: Incidental): Promise<Run> {
  const layout = layoutOf(directory);
  await makeDirectory(directory);
  const lock = await acquireLock(directory, { name: "run", instead: "another name for this run" });
  try {
    await settleRecipe(layout, recipe, incidental);
    await clearTemporaries(layout);
    if (await isUnbegun(directory)) {
      for (const file of inputsOf(layout)) await fs.rm(file, { force: true });
    }
    const checkpoint = await latestCheckpoint(layout.checkpoints);
    const result = await finishedResult(layout);
    const recorded = (await readLines(layout.metrics)).length;
    if (result === null) await rewind(layout, checkpoint?.state);
    const episodes = result === null ? await openEpisodes(layout, checkpoint?.state.step ?? 0) : null;
    const trajectories = await TrajectoryLog.open(layout.trajectories, checkpoint?.state.step ?? 0);
    const repeated = recorded - (result === null ? (checkpoint?.state.step ?? 0) : recorded);
    return makeRun(layout, { checkpoint, result, repeated, episodes, trajectories }, () => lock.release());
  } catch (error) {
    await lock.release();
    throw error;
  }
}

interface Opened extends Pick<Run, "checkpoint" | "result" | "repeated" | "trajectories"> {
  /** null: the run is finished. */
  readonly episodes: EpisodeLog | null;
}

function makeRun(
  layout: RunLayout,
  { checkpoint, result, repeated, episodes: log, trajectories }: Opened,
  close: () => Promise<void>,
): Run {
  return {
    layout,
    checkpoint,
    result,
    repeated,
    trajectories,
    close,
    [Symbol.asyncDispose]: close,
    evaluations: () => readEvaluations(layout.directory),
    timings: () => readTimings(layout.directory),
    recordStep: async (metrics, timing, episodes) => {
      for (const episode of episodes) await log?.append(episode);
      await appendLine(layout.timings, timing);
      await appendLine(layout.metrics, metrics);
    },
    recordEpisode: async (episode) => log?.append(episode),
    recordEvaluation: async (evaluation, timing) => {
      await log?.sync();
      await appendLine(layout.timings, timing);
      await appendLine(layout.evaluations, evaluation);
    },
    recordWatch: (record) => appendLine(layout.watch, record),
    recordCheckpoint: async (step, { keep, best }, fill) => {
      await syncRecords(layout, log);
      await makeDirectory(layout.checkpoints);
      const evaluations = (await readLines(layout.evaluations)).length;
      const written = await writeCheckpoint(layout.checkpoints, step, async (folder) => ({
        ...(await fill(folder)),
        evaluations,
      }));
      await pruneCheckpoints(layout.checkpoints, keep, best);
      await trajectories.forget(step);
      return written;
    },
    pruneCheckpoints: ({ keep, best }) => pruneCheckpoints(layout.checkpoints, keep, best),
    recordResult: async (value) => {
      await syncRecords(layout, log);
      await trajectories.forget(Infinity);
      await writeFileDurably(layout.result, `${JSON.stringify(value, null, 2)}\n`);
    },
    ...inputRecorder(layout, checkpoint?.state.step ?? 0),
  };
}

/** Writes the recipe of a new run; compares that of an existing one. */
async function settleRecipe(
  layout: RunLayout,
  recipe: string,
  incidental: Incidental | undefined,
): Promise<void> {
  const existing = (await ifPresent(layout.recipe, readRegular))?.toString("utf8") ?? null;
  if (existing !== null && isSameTraining(existing, recipe, incidental)) return;
  if (existing !== null) {
    if (!(await isUnbegun(layout.directory))) throw otherRecipe(layout, existing, recipe, incidental);
    await fs.rm(layout.trajectories, { force: true });
    await fs.rm(layout.models, { recursive: true, force: true });
    return writeFileDurably(layout.recipe, recipe);
  }
  const names = await fs.readdir(layout.directory);
  const strange = names.find((name) => !name.startsWith(lockPrefix) && !name.startsWith(temporaryPrefix));
  if (strange !== undefined) {
    throw new TroupeError(
      "bad_run",
      `${layout.directory} contains ${strange} but no recipe.yaml, so it is not a run's folder. Use another name.`,
    );
  }
  await writeFileDurably(layout.recipe, recipe);
}

/** Nothing was recorded yet, for example because the model could not be loaded: another recipe may use the folder. */
export async function isUnbegun(directory: string): Promise<boolean> {
  const layout = layoutOf(directory);
  const records = [layout.metrics, layout.timings, layout.evaluations, layout.result];
  return areEmpty([...records, layout.checkpoints, layout.episodeIndex]);
}

/** Removes a folder in which nothing was recorded, unless another process writes it. */
export async function removeUnbegun(directory: string): Promise<void> {
  const lock = await acquireLock(directory).catch(() => null);
  if (lock === null) return;
  const { verdicts, programs, trajectories } = layoutOf(directory);
  try {
    const isEmpty = (await isUnbegun(directory)) && (await areEmpty([verdicts, programs, trajectories]));
    if (isEmpty) await fs.rm(directory, { recursive: true, force: true });
  } finally {
    await lock.release();
  }
}

async function areEmpty(files: readonly string[]): Promise<boolean> {
  const found = await Promise.all(files.map((file) => statOf(file)));
  return found.every((each) => each === null || (each.isFile() && each.size === 0));
}

function otherRecipe(
  layout: RunLayout,
  existing: string,
  recipe: string,
  incidental: Incidental | undefined,
): TroupeError {
  const [was, is] = [trainingLines(existing, incidental), trainingLines(recipe, incidental)];
  const differing = is.findIndex(({ line }, index) => line !== was[index]?.line);
  const at = differing === -1 ? is.length : differing;
  const place = was[at]?.number ?? existing.split("\n").length;
  return new TroupeError(
    "bad_run",
    `${layout.directory} belongs to another recipe: ${layout.recipe}:${place} has "${showText(was[at]?.line ?? "", 200)}", ` +
      `now it is "${showText(is[at]?.line ?? "", 200)}". Use another name for this run, or remove that folder.`,
  );
}

async function clearTemporaries(layout: RunLayout): Promise<void> {
  for (const directory of [layout.directory, layout.checkpoints, layout.episodes, layout.models]) {
    await removeTemporaries(directory);
  }
}

async function finishedResult(layout: RunLayout): Promise<RunResult | null> {
  return (await isPresent(layout.result)) ? readResult(layout.directory) : null;
}

/** Rewinds the records to a checkpoint; without one, to the start. */
async function rewind(layout: RunLayout, state: CheckpointState | undefined): Promise<void> {
  const step = state?.step ?? 0;
  const upToStep = (value: Readonly<Record<string, unknown>>) =>
    typeof value["step"] === "number" && value["step"] <= step;
  const metrics = await cutLines(layout.metrics, upToStep);
  await requireSteps(layout, step, metrics.length);
  const evaluations = await cutLines(layout.evaluations, upToStep);
  requireEvaluations(layout, evaluations, state?.evaluations ?? 0);
  // A killed process may have written the timing of an evaluation and not the evaluation.
  let left = evaluations.filter((evaluation) => evaluation["step"] === step).length;
  const isRecorded = ({ step: at, what }: Readonly<Record<string, unknown>>) =>
    at !== step || what !== "evaluation" || left-- > 0;
  await cutLines(layout.timings, (timing) => upToStep(timing) && isRecorded(timing));
  for (const file of inputsOf(layout)) await cutLines(file, upToStep);
  // No checkpoint has a return after its step. Whoever resumes does it again, unless the recipe no longer asks for it.
  const isUndone = (record: Readonly<Record<string, unknown>>) =>
    record["step"] === step && record["action"] === "return";
  await cutLines(layout.watch, (record) => upToStep(record) && !isUndone(record));
}

/** The records of what a run depends on besides its recipe. */
function inputsOf({ engines, modules, modelFiles, data, sandboxes }: RunLayout): string[] {
  return [engines, modules, modelFiles, data, sandboxes];
}

/** Keeps training episodes up to a step, and episodes of recorded evaluations. */
async function openEpisodes(layout: RunLayout, step: number): Promise<EpisodeLog> {
  const recorded = await readEvaluations(layout.directory);
  const places = new Set(recorded.map((one) => JSON.stringify([one.step, one.team])));
  return EpisodeLog.open(layout, (entry) => {
    const { evaluation } = entry;
    if (evaluation === undefined) return entry.step <= step;
    return places.has(JSON.stringify([entry.step, evaluation.team]));
  });
}

async function requireSteps(layout: RunLayout, step: number, lines: number): Promise<void> {
  if (lines === step) return;
  const steps = (await checkpointSteps(layout.checkpoints)).filter((other) => other <= lines);
  const fix =
    steps.length > 0
      ? `remove the folders after step-${steps.at(-1)} in ${layout.checkpoints} to resume from there`
      : "remove the run's folder to start over";
  throw new TroupeError(
    "bad_run",
    `${layout.metrics} has ${lines} steps but the newest checkpoint is of step ${step}: lines were removed. ` +
      `Restore the file, or ${fix}.`,
  );
}

/** An evaluation that is recorded already is not repeated, so a line too few or too many would stay so. */
function requireEvaluations(
  { evaluations: file }: RunLayout,
  lines: readonly Readonly<Record<string, unknown>>[],
  least: number,
): void {
  const places = lines.map(({ step, moment, team }) => JSON.stringify([step, moment, team]));
  const twice = places.findIndex((place, index) => places.indexOf(place) < index);
  if (twice !== -1) {
    const problem = `${file}:${twice + 1} repeats the evaluation of line ${places.indexOf(places[twice] ?? "") + 1}`;
    throw new TroupeError("bad_run", `${problem}. Remove the line.`);
  }
  if (lines.length >= least) return;
  const problem = `${file} has ${lines.length} evaluations up to the newest checkpoint, which was written after ${least}`;
  throw new TroupeError(
    "bad_run",
    `${problem}: lines were removed. Restore the file, or remove the run's folder.`,
  );
}

/** A checkpoint must never be on disk before the records of its steps. */
async function syncRecords(layout: RunLayout, episodes: EpisodeLog | null): Promise<void> {
  await episodes?.sync();
  const { metrics, timings, evaluations, watch, verdicts, programs } = layout;
  for (const file of [metrics, timings, evaluations, watch, ...inputsOf(layout), verdicts, programs]) {
    if (await isPresent(file)) await syncPath(file);
  }
  await syncPath(layout.directory);
}
