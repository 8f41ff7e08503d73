/** The tables of a report, which both of its pages show. */
import { showCount, showDuration, showLarge } from "../../format.ts";
import type { Cost, Entry, Series, Summary } from "./summary.ts";
import { costsOf, entryAt } from "./summary.ts";
import * as text from "./text.ts";

export interface Table {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** The first of the columns that are aligned as numbers. Absent: none. */
  readonly numbersFrom?: number;
}

/** `group` is the title of several rows in a sequence, and `row` the name of a row with that title. */
export type Cell =
  | string
  | { readonly group: string }
  | { readonly row: string; readonly title: string }
  | SuccessCell;

export interface SuccessCell {
  /** Empty: no seed is done. */
  readonly mean: string;
  readonly range: string;
  readonly isBest: boolean;
  /** From the baseline; empty: there is none. */
  readonly difference: string;
  /** Whether the difference is clearly above or below 0. */
  readonly clear: "up" | "down" | null;
  /** What is missing; empty: nothing. */
  readonly note: string;
}

type Titled = { readonly name: string; readonly title: string };

export function mainTable(summary: Summary): Table {
  const { rows, columns } = summary.record;
  return {
    titles: ["", ...titlesOf(columns)],
    rows: rows.map((row) => [
      rowCell(row),
      ...columns.map(({ name }) => successCell(summary, row.name, name)),
    ]),
  };
}

/** The rows that are points of a series. */
export function seriesTable(summary: Summary, { of, points }: Series): Table {
  const { columns } = summary.record;
  const rows = points.map(({ at, row }) => [
    String(at),
    ...columns.map(({ name }) => successCell(summary, row, name)),
  ]);
  return { titles: [of, ...titlesOf(columns)], rows };
}

function successCell(summary: Summary, row: string, column: string): Cell {
  const entry = entryAt(summary, row, column);
  if (entry === undefined) return "";
  const { success, isBest } = entry;
  const note = text.incomplete(entry);
  if (success === null) return { mean: "", range: "", isBest, difference: "", clear: null, note };
  const difference = text.differenceOf(summary, entry);
  return {
    mean: text.perCent(success.mean),
    range: text.showRange(success.interval),
    isBest,
    difference: difference === null ? "" : text.differenceText(difference),
    clear: difference?.isClear === true ? (difference.mean > 0 ? "up" : "down") : null,
    note,
  };
}

/** One table for each column of the experiment. */
export function measureTables(summary: Summary): Table[] {
  const { rows, columns, measures = [] } = summary.record;
  if (measures.length === 0) return [];
  const cellOf = (entry: Entry | undefined, measure: (typeof measures)[number]) =>
    entry === undefined ? "" : text.measureText(entry, measure);
  return columns.map((column) => ({
    titles: [columns.length === 1 ? "" : column.title, ...titlesOf(measures)],
    rows: rows.map((row) => {
      const entry = entryAt(summary, row.name, column.name);
      return [rowCell(row), ...measures.map((each) => cellOf(entry, each))];
    }),
    numbersFrom: 1,
  }));
}

/** Success, and the measures of each column: those with a value in any row, and the rows that have one. */
export function publishedTables({ record }: Summary): Table[] {
  const { published, rows, columns, measures = [] } = record;
  if (published === undefined) return [];
  const shown = rows.filter(({ name }) => Object.hasOwn(published.values, name));
  const success = shown.map((row) => [
    rowCell(row),
    ...columns.map(({ name }) => published.values[row.name]?.[name]?.toFixed(1) ?? ""),
  ]);
  const measured = columns.map(({ name, title }) => {
    const byRow = published.measures?.[name] ?? {};
    const known = measures.filter((each) =>
      Object.values(byRow).some((row) => Object.hasOwn(row, each.name)),
    );
    const found = rows.filter((row) => Object.hasOwn(byRow, row.name));
    const cells = found.map((row) => [
      rowCell(row),
      ...known.map((each) => byRow[row.name]?.[each.name]?.toFixed(1) ?? "–"),
    ]);
    return { titles: [columns.length === 1 ? "" : title, ...titlesOf(known)], rows: cells, numbersFrom: 1 };
  });
  return [{ titles: ["", ...titlesOf(columns)], rows: success }, ...measured].filter(
    (each) => each.rows.length > 0,
  );
}

export function seedTable(summary: Summary): Table {
  const { rows, columns, seeds } = summary.record;
  const cells = columns.flatMap((column) =>
    rows.map((row): Cell[] => {
      const entry = entryAt(summary, row.name, column.name);
      const bySeed = new Map(entry?.seeds.map((seed, index) => [seed, entry.numbers[index]?.success]));
      const values = seeds.map((seed) => {
        const value = bySeed.get(seed);
        return value === undefined ? "–" : text.perCent(value);
      });
      const overTasks = entry?.success ? text.showRange(entry.success.overTasks) : "";
      return [{ group: column.title }, rowCell(row), ...values, overTasks];
    }),
  );
  return {
    titles: ["", "", ...seeds.map((seed) => `seed ${seed}`), "over the tasks"],
    rows: cells,
    numbersFrom: 2,
  };
}

export function costTable({ record }: Summary): Table {
  const titles = ["column", "row", "runs", "steps", "updates", "tokens sampled", "tokens trained", "time"];
  return { titles, rows: costsOf(record).map(costCells), numbersFrom: 2 };
}

function costCells({ column, row, title, runs, steps, updates, sampled, trained, seconds }: Cost): Cell[] {
  return [
    { group: column },
    { row, title },
    String(runs),
    showCount(steps),
    showCount(updates),
    showLarge(sampled),
    showLarge(trained),
    showDuration(seconds),
  ];
}

function rowCell({ name, title }: Titled): Cell {
  return { row: name, title };
}

function titlesOf(titled: readonly Titled[]): string[] {
  return titled.map(({ title }) => title);
}
