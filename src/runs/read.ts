/** Reads run folders, finished or not, even while they are being written. Damage is `bad_run`, never a crash. */
import fs from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import type { z } from "zod";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import { cannotRead, ifPresent, isPresent, isUnreadable, namesIn } from "../present.ts";
import { checkpointSteps } from "./checkpoints.ts";
import { readLines } from "./json-lines.ts";
import { layoutOf } from "./layout.ts";
import { isLocked } from "./lock.ts";
import { readRegular } from "./regular.ts";
import {
  dataRecordSchema,
  engineRecordSchema,
  modelsRecordSchema,
  modulesRecordSchema,
  sandboxRecordSchema,
} from "./input-records.ts";
import type {
  DataRecord,
  EngineRecord,
  ModelsRecord,
  ModulesRecord,
  SandboxRecord,
} from "./input-records.ts";
import {
  evaluationSchema,
  resultSchema,
  schemaVersion,
  stepMetricsSchema,
  timingSchema,
  watchRecordSchema,
} from "./records.ts";
import type { Evaluation, RunResult, StepMetrics, Timing, WatchRecord } from "./records.ts";

export interface RunSummary {
  readonly name: string;
  readonly directory: string;
  /** Last step recorded; 0: none. */
  readonly step: number;
  readonly checkpoints: readonly number[];
  /** `damaged`: see `problem`. */
  readonly status: "running" | "interrupted" | "finished" | "damaged";
  readonly result?: RunResult;
  readonly problem?: string;
}

/**
 * The runs in a folder, by name. A folder that does not exist has none; damaged runs are listed as such; folders of
 * runs, such as those of experiments, are not listed.
 */
export async function listRuns(root: string): Promise<RunSummary[]> {
  return Promise.all((await runFolders(root)).map(summarizeRun));
}

/** Their folders only: nothing in them is read. */
export async function runFolders(root: string): Promise<string[]> {
  const entries = (await ifPresent(root, () => fs.readdir(root, { withFileTypes: true }))) ?? [];
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  const own = await Promise.all(
    folders.map(async ({ name }) => ((await holdsRuns(path.join(root, name)).catch(isOne)) ? [] : [name])),
  );
  const names = own.flat().toSorted();
  return names.map((name) => path.join(root, name));
}

/** What cannot be read is listed, with the reason. */
function isOne(error: unknown): false {
  if (error instanceof TroupeError) return false;
  throw error;
}

/** @throws TroupeError `bad_run` if there is no run in the folder */
export async function checkIsRun(directory: string): Promise<void> {
  if (await isRun(directory)) return;
  const problem = (await isPresent(directory))
    ? "is not a run's folder: it has no recipe.yaml"
    : "does not exist";
  throw new TroupeError("bad_run", `${path.resolve(directory)} ${problem}.`);
}

async function isRun(folder: string): Promise<boolean> {
  return isPresent(layoutOf(folder).recipe);
}

/** Not a run, but a folder of runs. */
async function holdsRuns(directory: string): Promise<boolean> {
  if (await isRun(directory)) return false;
  const inner = await namesIn(directory);
  const found = await Promise.all(inner.map((name) => isRun(path.join(directory, name))));
  return found.includes(true);
}

export async function summarizeRun(directory: string): Promise<RunSummary> {
  const base = { name: path.basename(directory), directory };
  try {
    await readRecipeText(directory);
    const metrics = await readMetrics(directory);
    const checkpoints = await checkpointSteps(layoutOf(directory).checkpoints);
    const progress = { ...base, step: metrics.at(-1)?.step ?? 0, checkpoints };
    if (await isPresent(layoutOf(directory).result)) {
      const result = await readResult(directory);
      checkWhole(directory, progress.step, result);
      return { ...progress, status: "finished", result };
    }
    return { ...progress, status: (await isLocked(directory)) ? "running" : "interrupted" };
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return { ...base, step: 0, checkpoints: [], status: "damaged", problem: error.message };
  }
}

/** @throws TroupeError `bad_run` if steps of a finished run are missing */
function checkWhole(directory: string, last: number, { steps }: RunResult): void {
  const all = steps.warmStart + steps.reinforcement;
  if (last >= all) return;
  throw new TroupeError(
    "bad_run",
    `${layoutOf(directory).metrics} ends at step ${last}, but the run finished ${all}: lines are missing or damaged.`,
  );
}

/** The recipe as resolved, in YAML. */
async function readRecipeText(directory: string): Promise<string> {
  const { recipe } = layoutOf(directory);
  try {
    return (await readRegular(recipe)).toString("utf8");
  } catch (error) {
    if (isUnreadable(error)) throw cannotRead(recipe, error);
    throw new TroupeError("bad_run", `${directory} is not a run's folder: it has no readable recipe.yaml.`, {
      cause: error,
    });
  }
}

/** The resolved recipe, unchecked. @throws TroupeError `bad_run` if it is not YAML */
export async function readRecipe(directory: string): Promise<unknown> {
  const text = await readRecipeText(directory);
  let value: unknown;
  try {
    value = parse(text, { logLevel: "error" });
  } catch (cause) {
    throw damagedRecipe(directory, showText((cause as Error).message, 200), cause);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw damagedRecipe(directory, "it holds no recipe.");
}

function damagedRecipe(directory: string, problem: string, cause?: unknown): TroupeError {
  const { recipe } = layoutOf(directory);
  return new TroupeError("bad_run", `${recipe} is damaged: ${problem} Restore the file.`, { cause });
}

/** One record for each step, from the first. A lost or repeated line would move every average and every curve. */
export async function readMetrics(directory: string): Promise<StepMetrics[]> {
  const { metrics } = layoutOf(directory);
  const steps = await readRecords(metrics, stepMetricsSchema);
  const at = steps.findIndex(({ step }, index) => step !== index + 1);
  if (at < 0) return steps;
  throw new TroupeError(
    "bad_run",
    `${metrics}:${at + 1} is of step ${steps[at]?.step}; expected step ${at + 1}: lines are missing, repeated or out of order. ` +
      "Restore the file or remove the run's folder.",
  );
}

export function readTimings(directory: string): Promise<Timing[]> {
  return readRecords(layoutOf(directory).timings, timingSchema);
}

export function readEvaluations(directory: string): Promise<Evaluation[]> {
  return readRecords(layoutOf(directory).evaluations, evaluationSchema);
}

/** Limits that were crossed. */
export function readWatch(directory: string): Promise<WatchRecord[]> {
  return readRecords(layoutOf(directory).watch, watchRecordSchema);
}

/** What computed the run; empty for runs of versions that did not record it. */
export function readEngines(directory: string): Promise<EngineRecord[]> {
  return readRecords(layoutOf(directory).engines, engineRecordSchema);
}

/** What isolated models' programs; empty if there were none. */
export function readSandboxes(directory: string): Promise<SandboxRecord[]> {
  return readRecords(layoutOf(directory).sandboxes, sandboxRecordSchema);
}

/** Which user code ran; empty if the recipe has no modules. */
export function readModules(directory: string): Promise<ModulesRecord[]> {
  return readRecords(layoutOf(directory).modules, modulesRecordSchema);
}

/** Which models it started from; empty if the recipe names no directory. */
export function readModels(directory: string): Promise<ModelsRecord[]> {
  return readRecords(layoutOf(directory).modelFiles, modelsRecordSchema);
}

/** Which data the tasks are from; empty if the environment uses no data set. */
export function readData(directory: string): Promise<DataRecord[]> {
  return readRecords(layoutOf(directory).data, dataRecordSchema);
}

/** @throws TroupeError `bad_run` if the run is not finished */
export async function readResult(directory: string): Promise<RunResult> {
  const file = layoutOf(directory).result;
  let value: unknown;
  try {
    value = JSON.parse((await readRegular(file)).toString("utf8"));
  } catch (error) {
    if (isUnreadable(error)) throw cannotRead(file, error);
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const what = missing
      ? "does not exist: the run is not finished"
      : `is damaged: ${(error as Error).message}`;
    throw new TroupeError("bad_run", `${file} ${what}.`, { cause: error });
  }
  return checkRecord(file, resultSchema, value);
}

/** The lines of a file of records. Damage is `bad_run`. */
export async function readRecords<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<z.output<Schema>[]> {
  const lines = await readLines(file);
  return lines.map(({ value }, index) => checkRecord(`${file}:${index + 1}`, schema, value));
}

/** @param where for messages */
export function checkRecord<Schema extends z.ZodType>(
  where: string,
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unreadable(where, value, `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "unexpected"}`);
}

function unreadable(where: string, value: unknown, problem: string): TroupeError {
  const version = (value as { schema_version?: unknown } | null)?.schema_version;
  const other = typeof version === "number" && version !== schemaVersion;
  const detail = other
    ? `has schema_version ${version}; this Troupe reads ${schemaVersion}. Use the version that wrote it`
    : `is invalid (${problem}). Restore the file or remove the run's folder`;
  return new TroupeError("bad_run", `${where} ${detail}.`);
}
