/**
 * Converts DSBench's modelling tasks (arXiv 2409.07703) into folders of tasks. Its tables may not be redistributed:
 * whoever has downloaded them converts their own copy.
 *
 *     SOURCE/data/data_resplit/NAME/{train,test,sample_submission}.csv
 *     SOURCE/data/answers/NAME/test_answer.csv
 *     SOURCE/data/task/NAME.txt                            unless descriptions are given
 *     SOURCE/save_performance/{baseline,GT}/NAME/result.txt   if there
 */
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import { jsonOrNull } from "../../../json.ts";
import { namesIn } from "../../../present.ts";
import { metricNamed, type MetricName } from "../metrics/metric.ts";
import { readCsv, writeCsv } from "../submission/csv.ts";
import { readTextOf, writeTask } from "./folder.ts";
import { openTask, type TaskFile, type TaskText } from "./task.ts";

export interface DsbenchOptions {
  readonly source: string;
  readonly target: string;
  /** JSON lines with `prompt` and `metadata.task_id`, by split, as MAPPA has them. Default: the texts of the source. */
  readonly descriptions?: Readonly<Record<string, string>>;
}

export interface Converted {
  readonly written: readonly string[];
  /** By task: why it was not converted. */
  readonly skipped: Readonly<Record<string, string>>;
}

export interface Described {
  readonly id: string;
  readonly description: string;
  readonly split: string;
}

/** @throws TroupeError `bad_data` if the source has none of the files, `bad_arguments` if a task's folder exists */
export async function convertDsbench(options: DsbenchOptions): Promise<Converted> {
  const { source, target, descriptions } = options;
  const described = descriptions === undefined ? await ownTexts(source) : await describedIn(descriptions);
  const written: string[] = [];
  const skipped: Record<string, string> = {};
  for (const one of described) {
    const converted = await convertOne(source, one);
    if (typeof converted === "string") skipped[one.id] = converted;
    else {
      await writeTask(target, converted);
      written.push(one.id);
    }
  }
  return { written, skipped };
}

const lineSchema = z.object({
  prompt: z.string().min(1),
  metadata: z.object({ task_id: z.string().min(1) }),
});

/** @param files by split @throws TroupeError `bad_data` for a line of another form */
export async function describedIn(files: Readonly<Record<string, string>>): Promise<Described[]> {
  const found: Described[] = [];
  for (const [split, file] of Object.entries(files)) {
    const text = (await readTextOf(file)) ?? fail(`${file} is missing`);
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    for (const [index, line] of lines.entries()) {
      const parsed = lineSchema.safeParse(jsonOrNull(line));
      if (!parsed.success)
        fail(`${file}:${index + 1}: expected JSON with \`prompt\` and \`metadata.task_id\``);
      const { prompt, metadata } = parsed.data;
      found.push({ id: safeName(metadata.task_id), description: prompt, split });
    }
  }
  return found;
}

/** Without descriptions: each ninth task by name is held out, as many as MAPPA holds out. */
async function ownTexts(source: string): Promise<Described[]> {
  const folder = path.join(source, "data", "task");
  const files = await namesIn(folder, "bad_data");
  if (files.length === 0) fail(`${folder} is missing; unpack DSBench's data.zip in ${source}`);
  const names = files.filter((file) => file.endsWith(".txt")).toSorted();
  return Promise.all(
    names.map(async (file, index) => ({
      id: file.slice(0, -".txt".length),
      description: await fs.readFile(path.join(folder, file), "utf8"),
      split: index % 9 === 8 ? "heldOut" : "train",
    })),
  );
}

/** @returns why not, if it cannot be converted */
async function convertOne(source: string, { id, description, split }: Described): Promise<TaskText | string> {
  const metric = dsbenchMetric(id);
  if (metric === undefined) return "it has several targets, or a metric that Troupe does not have";
  const at = (...parts: readonly string[]): Promise<string | null> => readTextOf(path.join(source, ...parts));
  const table = (name: string) => at("data", "data_resplit", id, name);
  const [train, test, sample] = await Promise.all([
    table("train.csv"),
    table("test.csv"),
    table("sample_submission.csv"),
  ]);
  const answer = await at("data", "answers", id, "test_answer.csv");
  if (train === null || test === null || answer === null) return "its tables are not there";
  const columns = columnsOf(train, test, answer);
  if (typeof columns === "string") return columns;
  const [baseline, gold] = await Promise.all(
    ["baseline", "GT"].map((name) => numberIn(at("save_performance", name, id, "result.txt"))),
  );
  const about: TaskFile = {
    title: id,
    description: description.trim(),
    type: metricNamed(metric).values === "numbers" ? "regression" : "classification",
    metric,
    ...columns,
    split,
    ...(baseline === undefined ? {} : { baseline }),
    ...(gold === undefined ? {} : { gold }),
    source: "DSBench",
  };
  const labels = twoColumns(answer, columns.idColumn, columns.target);
  const task = { id, about, train, test, labels, ...(sample === null ? {} : { sample }) };
  return problemOf(task) ?? task;
}

type Columns = Pick<TaskFile, "idColumn" | "target">;

/** The target is the training column that the test table lacks and the answers have; the id is in both of these. */
function columnsOf(train: string, test: string, answer: string): Columns | string {
  const [trained, tested, answers] = [train, test, answer].map((text) => headerOf(text));
  const targets =
    trained?.filter((name) => answers?.includes(name) === true && tested?.includes(name) !== true) ?? [];
  const [idColumn] = tested?.filter((name) => answers?.includes(name)) ?? [];
  const [target] = targets;
  if (target === undefined || targets.length > 1) return `it has ${targets.length} targets`;
  return idColumn === undefined ? "its answers have no id" : { idColumn, target };
}

function headerOf(text: string): readonly string[] {
  return readCsv(text.slice(0, text.indexOf("\n") + 1)).header;
}

function twoColumns(text: string, ...names: readonly string[]): string {
  const { header, rows } = readCsv(text);
  const columns = names.map((name) => header.indexOf(name));
  return writeCsv({ header: names, rows: rows.map((row) => columns.map((column) => row[column] ?? "")) });
}

async function numberIn(text: Promise<string | null>): Promise<number | undefined> {
  const found = (await text)?.trim() ?? "";
  return found !== "" && Number.isFinite(Number(found)) ? Number(found) : undefined;
}

function problemOf(task: TaskText): string | null {
  try {
    openTask(task);
    return null;
  } catch (error) {
    if (error instanceof TroupeError) return error.message;
    throw error;
  }
}

/** It becomes a folder's name. */
function safeName(id: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$/.test(id)
    ? id
    : fail(`the name ${JSON.stringify(id.slice(0, 100))} of a task cannot be the name of a folder`);
}

function fail(problem: string): never {
  throw new TroupeError("bad_data", problem);
}

/**
 * What DSBench's evaluation scripts compute (LiqiangJing/DSBench, data_modeling/evaluation), for tasks with one target.
 * Micro-F1 of one label is accuracy. Tasks with several targets, or metrics of their own (kappa, Gini, Jaccard, …), are
 * missing.
 */
const byMetric: Readonly<Partial<Record<MetricName, string>>> = {
  accuracy: `playground-series-s3e22 playground-series-s4e2 playground-series-s4e6 spaceship-titanic
    tabular-playground-series-apr-2021 tabular-playground-series-dec-2021 tabular-playground-series-feb-2022 titanic`,
  auc: `amazon-employee-access-challenge cat-in-the-dat cat-in-the-dat-ii dont-overfit-ii instant-gratification
    microsoft-malware-prediction playground-series-s3e2 playground-series-s3e3 playground-series-s3e4
    playground-series-s3e7 playground-series-s3e12 playground-series-s3e17 playground-series-s3e24
    playground-series-s4e1 santander-customer-satisfaction santander-customer-transaction-prediction
    tabular-playground-series-aug-2022 tabular-playground-series-mar-2021 tabular-playground-series-may-2022
    tabular-playground-series-nov-2021 tabular-playground-series-sep-2021`,
  f1: "nlp-getting-started",
  "macro-f1": "liverpool-ion-switching",
  "log-loss": "playground-series-s3e10",
  rmse: `commonlitreadabilityprize playground-series-s3e1 playground-series-s3e6 playground-series-s3e8
    playground-series-s3e9 playground-series-s3e23 tabular-playground-series-aug-2021
    tabular-playground-series-feb-2021 tabular-playground-series-jan-2021`,
  rmsle: `bike-sharing-demand playground-series-s3e11 playground-series-s4e4 santander-value-prediction-challenge
    tmdb-box-office-prediction`,
  mae: "playground-series-s3e14 playground-series-s3e16 ventilator-pressure-prediction",
  mse: "tabular-playground-series-mar-2022",
  "median-absolute-error": "playground-series-s3e25",
  smape: `demand-forecasting-kernels-only playground-series-s3e19 playground-series-s3e20
    tabular-playground-series-jan-2022 tabular-playground-series-sep-2022`,
  r2: "playground-series-s4e5",
};

const metrics: ReadonlyMap<string, MetricName> = new Map(
  Object.entries(byMetric).flatMap(([metric, names]) =>
    names.split(/\s+/).map((name) => [name, metric as MetricName] as const),
  ),
);

/** Undefined: not one that Troupe has. */
export function dsbenchMetric(name: string): MetricName | undefined {
  return metrics.get(name);
}
