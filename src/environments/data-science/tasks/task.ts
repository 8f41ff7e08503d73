/** A task: two tables, a target to predict, and the hidden labels of the second table. */
import { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import type { Truth } from "../metrics/classification.ts";
import { scaleOf, type ScoreScale } from "../metrics/gap.ts";
import { metricNamed, metricNames, type MetricName } from "../metrics/metric.ts";
import type { TaskType } from "../metrics/report.ts";
import { readCsv, type CsvTable } from "../submission/csv.ts";
import { canonical } from "../submission/submission.ts";

/** `task.json` of a task's folder. */
export const taskFileSchema = z.strictObject({
  title: z.string().min(1),
  description: z.string().min(1),
  type: z.enum(["classification", "regression"]),
  metric: z.enum(metricNames),
  idColumn: z.string().min(1),
  target: z.string().min(1),
  split: z.string().min(1).default("train"),
  /** Of a classification. Default: the labels of the training table and the hidden ones, sorted. */
  classes: z.array(z.string()).min(2).optional(),
  /** Of two classes. Default: the last one. */
  positive: z.string().optional(),
  /** The metric of a reference, such as DSBench's baseline; the better of this and the best constant counts. */
  baseline: z.number().optional(),
  /** The metric of the best known solution. Default: that of perfect predictions. */
  gold: z.number().optional(),
  /** Where the task is from. */
  source: z.string().optional(),
});

export type TaskFile = z.output<typeof taskFileSchema>;

/** As in its folder: `train.csv`, `test.csv`, `labels.csv`. */
export interface TaskText {
  readonly id: string;
  readonly about: TaskFile;
  readonly train: string;
  readonly test: string;
  /** Ids and the target of the test rows. Never in a workspace. */
  readonly labels: string;
  /** Default: made from ids and the training table. */
  readonly sample?: string;
}

export interface TabularTask {
  readonly id: string;
  readonly about: TaskFile;
  readonly metric: MetricName;
  readonly type: TaskType;
  /** What programs find in their workspace. */
  readonly files: Readonly<Record<string, string>>;
  /** How many rows `test.csv` has. */
  readonly testRows: number;
  /** Of the test rows, in the order of `truth`. */
  readonly ids: readonly string[];
  readonly truth: Truth;
  readonly scale: ScoreScale;
}

/** @throws TroupeError `bad_data` if the parts do not fit together */
export function openTask({ id, about, ...texts }: TaskText): TabularTask {
  const [train, test, labels] = [readCsv(texts.train), readCsv(texts.test), readCsv(texts.labels)];
  const wrong = (problem: string): TroupeError => new TroupeError("bad_data", `the task ${id}: ${problem}`);
  const trainTarget = columnOf(train, about.target) ?? fail(wrong(`train.csv has no column ${about.target}`));
  const testIds = columnOf(test, about.idColumn) ?? fail(wrong(`test.csv has no column ${about.idColumn}`));
  if (test.header.includes(about.target)) throw wrong(`test.csv has the target ${about.target}`);
  const ids = columnOf(labels, about.idColumn) ?? fail(wrong(`labels.csv has no column ${about.idColumn}`));
  const hidden = columnOf(labels, about.target) ?? fail(wrong(`labels.csv has no column ${about.target}`));
  if (new Set(ids).size !== ids.length) throw wrong("labels.csv has an id twice");
  const known = new Set(ids);
  if (ids.length !== testIds.length || testIds.some((one) => !known.has(one)))
    throw wrong("labels.csv and test.csv have different ids");
  if (about.type === "regression" && hidden.some((one) => one === "" || !Number.isFinite(Number(one))))
    throw wrong("labels.csv has a value that is not a number");
  const truth = truthOf(about, trainTarget, hidden);
  const unfit = problemOf(about, truth);
  if (unfit !== null) throw wrong(unfit);
  const sample = texts.sample ?? sampleOf(about, test, trainTarget, truth);
  return {
    id,
    about,
    metric: about.metric,
    type: about.type,
    files: { "train.csv": texts.train, "test.csv": texts.test, "sample_submission.csv": sample },
    testRows: test.rows.length,
    ids,
    truth,
    scale: scaleOf(about.metric, truth, knownScale(about)),
  };
}

function fail(error: TroupeError): never {
  throw error;
}

function knownScale({ baseline, gold }: TaskFile): Partial<ScoreScale> {
  return { ...(baseline === undefined ? {} : { baseline }), ...(gold === undefined ? {} : { gold }) };
}

/** Canonical values. Undefined: there is no such column. */
function columnOf({ header, rows }: CsvTable, name: string): string[] | undefined {
  const column = header.indexOf(name);
  return column === -1 ? undefined : rows.map((row) => canonical(row[column] ?? ""));
}

function truthOf(about: TaskFile, trained: readonly string[], labels: readonly string[]): Truth {
  if (about.type === "regression") return { labels, classes: [], positive: "" };
  const found = [...new Set([...trained, ...labels])].filter((one) => one !== "").toSorted();
  const classes = about.classes?.map(canonical) ?? found;
  return { labels, classes, positive: canonical(about.positive ?? classes.at(-1) ?? "") };
}

/** Why the metric says nothing about these labels; null: it does. */
function problemOf({ type, metric }: TaskFile, { labels, classes, positive }: Truth): string | null {
  const isOfNumbers = metricNamed(metric).values === "numbers";
  if (isOfNumbers !== (type === "regression")) return `the metric ${metric} is not for ${type}`;
  if (isOfNumbers) return null;
  const strange = labels.find((label) => !classes.includes(label));
  if (strange !== undefined) return `labels.csv has “${strange}”, which is not one of the classes`;
  if (!classes.includes(positive)) return `positive is “${positive}”, which is not one of the classes`;
  const ofTwo: readonly TaskFile["metric"][] = ["auc", "f1"];
  if (!ofTwo.includes(metric) || classes.length === 2) return null;
  return `the metric ${metric} needs two classes, not ${classes.length}: ${classes.slice(0, 5).join(", ")}`;
}

/** What a submission looks like: the first training label, or equal probabilities, for all. */
function sampleOf(about: TaskFile, test: CsvTable, trained: readonly string[], { classes }: Truth): string {
  const column = test.header.indexOf(about.idColumn);
  const ids = test.rows.map((row) => row[column] ?? "");
  const isPerClass = metricNamed(about.metric).values === "probabilities" && classes.length > 2;
  const names = isPerClass ? classes : [about.target];
  const value = sampleValue(about, trained, classes.length);
  return [[about.idColumn, ...names], ...ids.map((id) => [id, ...names.map(() => value)])]
    .map((row) => `${row.join(",")}\n`)
    .join("");
}

function sampleValue({ metric }: TaskFile, trained: readonly string[], classes: number): string {
  const { values } = metricNamed(metric);
  if (values === "labels") return trained[0] ?? "";
  return values === "numbers" ? "0" : (1 / Math.max(2, classes)).toFixed(3);
}
