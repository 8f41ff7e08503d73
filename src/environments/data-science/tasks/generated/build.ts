/**
 * Builds a task's tables from its rules. The rules know the distribution of each label, so gold is the metric of the best
 * possible predictions, and labels are noisy as in real tables.
 */
import {
  drawFloat,
  drawInt,
  generatorOf,
  childKey,
  keyAt,
  type Generator,
  type Key,
} from "../../../../random.ts";
import type { Predictions, Truth } from "../../metrics/classification.ts";
import { metricNamed, type MetricName } from "../../metrics/metric.ts";
import type { TaskType } from "../../metrics/report.ts";
import { writeCsv } from "../../submission/csv.ts";
import { canonical } from "../../submission/submission.ts";
import type { TaskText } from "../task.ts";

/** Of a usual table. */
export const rows = { train: 420, test: 180 } as const;

export class Draw {
  readonly #generator: Generator;

  constructor(key: Key) {
    this.#generator = generatorOf(key);
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * drawFloat(this.#generator);
  }

  /** Both ends included. */
  int(low: number, high: number): number {
    return low + drawInt(this.#generator, high - low + 1);
  }

  /** Box–Muller. */
  normal(mean = 0, deviation = 1): number {
    const [first, second] = [drawFloat(this.#generator), drawFloat(this.#generator)];
    return mean + deviation * Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
  }

  chance(probability: number): boolean {
    return drawFloat(this.#generator) < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[drawInt(this.#generator, items.length)] as Item;
  }

  /** An index with these probabilities, which sum to 1. */
  among(probabilities: readonly number[]): number {
    let left = drawFloat(this.#generator);
    const found = probabilities.findIndex((one) => (left -= one) < 0);
    return found === -1 ? probabilities.length - 1 : found;
  }

  /** A day in [start, start + days), as ISO date and as the number of days since the start. */
  day(start: string, days: number): { readonly text: string; readonly number: number; readonly date: Date } {
    const number = this.int(0, days - 1);
    const date = new Date(Date.parse(`${start}T00:00:00Z`) + number * 86_400_000);
    return { text: date.toISOString().slice(0, 10), number, date };
  }
}

export function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** Probabilities of the first and the second class. */
export function binary(value: number): readonly number[] {
  return [1 - logistic(value), logistic(value)];
}

export function softmax(values: readonly number[]): number[] {
  const powers = values.map((one) => Math.exp(one - Math.max(...values)));
  const total = powers.reduce((sum, one) => sum + one, 0);
  return powers.map((one) => one / total);
}

export type RowValue = string | number;
export type Features = Readonly<Record<string, RowValue>>;

/** A row, and the distribution of its label. */
export type MadeRow = { readonly features: Features } & (
  | { readonly probabilities: readonly number[] }
  /** Normal; of the logarithm with `isLog`. */
  | { readonly mean: number; readonly deviation: number; readonly isLog?: true }
);

export interface TaskRules {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly type: TaskType;
  readonly metric: MetricName;
  readonly split: "train" | "validation" | "heldOut";
  readonly idColumn: string;
  readonly target: string;
  /** Of a classification, in the order of the probabilities. */
  readonly classes?: readonly string[];
  readonly rows: { readonly train: number; readonly test: number };
  /** Digits of a regression's labels. */
  readonly digits?: number;
  make(draw: Draw): MadeRow;
  /** Shares of missing values. */
  readonly missing?: Readonly<Record<string, number>>;
  /** Columns that depend on the label: known in training, worthless in the test. */
  leak?(label: string, isTest: boolean, draw: Draw): Features;
}

interface Row {
  readonly id: string;
  readonly cells: Features;
  readonly label: string;
  readonly made: MadeRow;
}

export function buildTask(rules: TaskRules, root: Key): TaskText {
  const key = childKey(root, rules.id);
  const train = rowsOf(rules, childKey(key, "train"), rules.rows.train, 1);
  const test = rowsOf(rules, childKey(key, "test"), rules.rows.test, rules.rows.train + 1);
  const { id, title, description, type, metric, split, idColumn, target } = rules;
  const classes = rules.classes === undefined ? {} : { classes: [...rules.classes] };
  const about = { title, description, type, metric, split, idColumn, target, ...classes };
  const names = Object.keys(train[0]?.cells ?? {});
  const features = (row: Row): string[] => [row.id, ...names.map((name) => String(row.cells[name] ?? ""))];
  return {
    id,
    about: { ...about, gold: goldOf(rules, test) },
    train: writeCsv({
      header: [idColumn, ...names, target],
      rows: train.map((row) => [...features(row), row.label]),
    }),
    test: writeCsv({ header: [idColumn, ...names], rows: test.map(features) }),
    labels: writeCsv({ header: [idColumn, target], rows: test.map(({ id: own, label }) => [own, label]) }),
  };
}

function rowsOf(rules: TaskRules, key: Key, count: number, first: number): Row[] {
  const isTest = first > 1;
  return Array.from({ length: count }, (_, index) => {
    const own = keyAt(key, index);
    const made = rules.make(new Draw(childKey(own, "features")));
    const label = labelOf(rules, made, new Draw(childKey(own, "label")));
    const leaked = rules.leak?.(label, isTest, new Draw(childKey(own, "leak"))) ?? {};
    const cells = withMissing({ ...made.features, ...leaked }, rules, new Draw(childKey(own, "missing")));
    return { id: String(first + index), cells, label, made };
  });
}

function labelOf({ classes = [], digits = 2 }: TaskRules, made: MadeRow, draw: Draw): string {
  if ("probabilities" in made) return classes[draw.among(made.probabilities)] ?? "";
  const value = draw.normal(made.mean, made.deviation);
  return (made.isLog === true ? Math.max(0, Math.expm1(value)) : value).toFixed(digits);
}

function withMissing(cells: Features, { missing = {} }: TaskRules, draw: Draw): Features {
  return Object.fromEntries(
    Object.entries(cells).map(([name, cell]) => [name, draw.chance(missing[name] ?? 0) ? "" : cell]),
  );
}

/** The metric of predictions that know each label's distribution. */
function goldOf({ metric, classes = [] }: TaskRules, tested: readonly Row[]): number {
  const names = classes.map(canonical);
  const truth: Truth = {
    labels: tested.map(({ label }) => canonical(label)),
    classes: names,
    positive: names.at(-1) ?? "",
  };
  const { values } = metricNamed(metric);
  const predictions: Predictions = {
    labels: values === "labels" ? tested.map(({ made }) => likeliest(made, names)) : [],
    numbers: values === "labels" ? [] : tested.map(({ made }) => expected(made, names.length)),
  };
  return Number(metricNamed(metric).measure(truth, predictions).toPrecision(6));
}

function likeliest(made: MadeRow, classes: readonly string[]): string {
  if (!("probabilities" in made)) return "";
  return classes[made.probabilities.indexOf(Math.max(...made.probabilities))] ?? "";
}

function expected(made: MadeRow, classes: number): readonly number[] {
  if ("probabilities" in made) return classes > 2 ? made.probabilities : [made.probabilities[1] ?? 0];
  return [made.isLog === true ? Math.expm1(made.mean) : made.mean];
}
