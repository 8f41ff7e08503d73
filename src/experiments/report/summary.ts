/** Aggregates a report's cells over seeds. Everything on a page is computed here, from the record alone. */
import type { Interval } from "../../statistics.ts";
import { mean } from "../../statistics.ts";
import type { Counts } from "../counts.ts";
import { countsOfRecord, ranIn } from "../counts.ts";
import type { CellNumbers, CellRecord, ReportRecord } from "../records.ts";
import { pairedDifference, shareInterval, taskInterval, type PairedDifference } from "../statistics.ts";

/** One place of the table: a row in a column, over its seeds. */
export interface Entry {
  readonly row: string;
  readonly column: string;
  /** Over the finished seeds. */
  readonly numbers: readonly CellNumbers[];
  readonly seeds: readonly number[];
  readonly failed: number;
  readonly missing: number;
  /** Null: no seed is done. */
  readonly success: Success | null;
  /** Highest mean of its column, and clearly above every other row in the same seeds. */
  readonly isBest: boolean;
}

export interface Success {
  readonly mean: number;
  /** 95 %, limited to [0, 1]. */
  readonly interval: Interval;
  /** Over seeds (t), or over the tasks of the only seed (Wilson). */
  readonly over: "seeds" | "tasks";
  /** Wilson's interval over the tasks, which all seeds share. */
  readonly overTasks: Interval;
  readonly values: readonly number[];
}

export interface Summary {
  readonly record: ReportRecord;
  readonly entries: readonly Entry[];
  readonly problems: readonly CellRecord[];
  readonly counts: SummaryCounts;
}

export interface SummaryCounts {
  readonly done: Counts;
  readonly all: Counts;
  /** Cells, each once. */
  readonly failed: number;
}

export function summarize(record: ReportRecord): Summary {
  const entries = record.rows.flatMap((row) =>
    record.columns.map((column) => entryOf(record, row.name, column.name)),
  );
  const withStatus = (status: CellRecord["status"]) => record.cells.filter((cell) => cell.status === status);
  const [done, failed] = [withStatus("done"), withStatus("failed")];
  return {
    record,
    entries: entries.map((entry) => ({ ...entry, isBest: isBest(entry, entries) })),
    problems: failed,
    counts: {
      done: countsOfRecord(record, done),
      all: countsOfRecord(record, record.cells),
      failed: ranIn(failed).length,
    },
  };
}

export function entryAt({ entries }: Summary, row: string, column: string): Entry | undefined {
  return entries.find((entry) => entry.row === row && entry.column === column);
}

/** Cells of a row or of a shared training in a column. */
export function entryOf(record: ReportRecord, row: string, column: string): Omit<Entry, "isBest"> {
  const cells = record.cells.filter((cell) => cell.row === row && cell.column === column);
  const done = cells.filter((cell) => cell.numbers !== undefined);
  const numbers = done.flatMap((cell) => cell.numbers ?? []);
  return {
    row,
    column,
    numbers,
    seeds: done.map(({ seed }) => seed),
    failed: cells.filter(({ status }) => status === "failed").length,
    missing: cells.filter(({ status }) => status === "missing").length,
    success: successOf(numbers),
  };
}

function successOf(numbers: readonly CellNumbers[]): Success | null {
  const values = numbers.map(({ success }) => success);
  const interval = shareInterval(values, tasksOf(numbers));
  if (interval === null) return null;
  const [only] = numbers.length === 1 ? numbers : [];
  const { low, high } = only?.sampled ?? interval;
  return {
    mean: mean(values),
    interval: { low, high },
    over: numbers.length === 1 ? "tasks" : "seeds",
    overTasks: taskInterval(values, tasksOf(numbers)),
    values,
  };
}

/** Those that every seed played. */
export function tasksOf(numbers: readonly CellNumbers[]): number {
  return Math.min(...numbers.map(({ tasks }) => tasks));
}

type Measured = Omit<Entry, "isBest">;

function isBest(entry: Measured, all: readonly Measured[]): boolean {
  const others = all.filter(({ row, column }) => column === entry.column && row !== entry.row);
  const differences = others.map((other) => differenceBetween(entry, other));
  return differences.length > 0 && differences.every((one) => one !== null && one.isClear && one.mean > 0);
}

/** In the seeds that both have. Null: there is none. */
export function differenceBetween(entry: Measured, other: Measured): PairedDifference | null {
  const pairs = entry.seeds.flatMap((seed, index) => {
    const [one, two] = [entry.numbers[index], other.numbers[other.seeds.indexOf(seed)]];
    return one === undefined || two === undefined ? [] : [{ one, other: two }];
  });
  return pairs.length === 0 ? null : pairedDifference(pairs);
}

/** A learning curve: the mean over seeds at each step that all have, with the lowest and the highest seed. */
export interface CurvePoint {
  readonly step: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export function curveOf({ numbers }: Pick<Entry, "numbers">): CurvePoint[] {
  const [first, ...others] = numbers.map(
    ({ curve }) => new Map(curve.map(({ step, success }) => [step, success])),
  );
  const steps = [...(first?.keys() ?? [])].filter((step) => others.every((other) => other.has(step)));
  return steps.map((step) => {
    const values = [first, ...others].map((curve) => curve?.get(step) ?? 0);
    return { step, mean: mean(values), low: Math.min(...values), high: Math.max(...values) };
  });
}

/** The cost of a row in a column: means over its seeds. */
export interface Cost {
  readonly row: string;
  readonly title: string;
  readonly column: string;
  readonly runs: number;
  readonly steps: number;
  readonly updates: number;
  readonly sampled: number;
  readonly trained: number;
  readonly seconds: number;
}

/** Of every trained row and of the shared trainings, column by column. */
export function costsOf(record: ReportRecord): Cost[] {
  const rows = [...record.shared, ...record.rows.filter(({ kind }) => kind === "train")];
  return record.columns.flatMap((column) =>
    rows.flatMap(({ name, title }) => {
      const { numbers } = entryOf(record, name, column.name);
      return numbers.length === 0 ? [] : [costOf(numbers, { row: name, title, column: column.title })];
    }),
  );
}

function costOf(numbers: readonly CellNumbers[], place: Pick<Cost, "row" | "title" | "column">): Cost {
  const average = (value: (each: CellNumbers) => number) => mean(numbers.map(value));
  return {
    ...place,
    runs: numbers.length,
    steps: average(({ steps }) => steps),
    updates: average(({ updates }) => updates),
    sampled: average(({ tokens }) => tokens.sampled),
    trained: average(({ tokens }) => tokens.trained),
    seconds: average(({ seconds }) => seconds),
  };
}

/** The total cost. Shared cells count once. */
export interface Spent {
  /** Tokens, in training. */
  readonly sampled: number;
  /** Wall-clock seconds of all cells, added up. */
  readonly added: number;
  /** Fewest and most concurrent cells, and `added` divided by them, per session. Null: a cell's session is unknown. */
  readonly atOnce: { readonly least: number; readonly most: number; readonly seconds: number } | null;
}

export function spentOf({ cells, sessions }: ReportRecord): Spent {
  const done = ranIn(cells.filter(({ status }) => status === "done"));
  const parts = [...Map.groupBy(done, ({ session }) => session)].map(([session, members]) => {
    const seconds = members.reduce((sum, { numbers }) => sum + (numbers?.seconds ?? 0), 0);
    const jobs = session === undefined ? undefined : sessions[session]?.jobs;
    return { seconds, jobs: Math.min(jobs ?? NaN, members.length) };
  });
  const total = (value: (part: (typeof parts)[number]) => number) =>
    parts.reduce((sum, part) => sum + value(part), 0);
  const seconds = total((part) => part.seconds / part.jobs);
  const jobs = parts.map((part) => part.jobs);
  const isKnown = parts.length > 0 && !Number.isNaN(seconds);
  return {
    sampled: done.reduce((sum, { numbers }) => sum + (numbers?.tokens.sampled ?? 0), 0),
    added: total((part) => part.seconds),
    atOnce: isKnown ? { least: Math.min(...jobs), most: Math.max(...jobs), seconds } : null,
  };
}

/** Lines of points (`point` of rows): success against group size, turns, … */
export interface Series {
  readonly of: string;
  readonly points: readonly { readonly at: number | string; readonly title: string; readonly row: string }[];
}

export function seriesOf({ rows }: ReportRecord): Series[] {
  const pointed = rows.flatMap(({ name, title, point }) =>
    point === undefined ? [] : [{ row: name, title, ...point }],
  );
  return [...Map.groupBy(pointed, ({ of }) => of)].map(([of, points]) => ({ of, points }));
}
