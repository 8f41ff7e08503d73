/**
 * Reads a submission: its rows are joined with the test set on their ids, and what is wrong with the format is a reason
 * that its author sees.
 */
import { showBytes, showCount, showText } from "../../../format.ts";
import type { Predictions, Truth } from "../metrics/classification.ts";
import type { Values } from "../metrics/metric.ts";
import { readCsv, type CsvTable } from "./csv.ts";

export interface SubmissionForm {
  readonly idColumn: string;
  readonly target: string;
  readonly values: Values;
  readonly truth: Truth;
  /** In the order of the truth. */
  readonly ids: readonly string[];
}

export type ReadSubmission = { readonly predictions: Predictions } | { readonly problem: string };

const longest = 64 * 2 ** 20;

export function readSubmission(bytes: Uint8Array, form: SubmissionForm): ReadSubmission {
  const { ids } = form;
  const limit = longestFor(form);
  if (bytes.length > limit)
    return { problem: `it is larger than ${showBytes(limit)}, too large for ${showCount(ids.length)} rows` };
  // Twice as many as there should be: enough to say what is wrong.
  const table = readCsv(Buffer.from(bytes).toString("utf8"), 2 * ids.length + 100);
  const columns = columnsOf(table, form);
  if ("problem" in columns) return columns;
  const joined = joinedRows(table, columns.id, form.ids);
  if ("problem" in joined) return joined;
  return readValues(joined.rows, columns.values, form);
}

/** In bytes. Reading takes time and memory of the training, whatever a program wrote. */
function longestFor({ ids, truth }: SubmissionForm): number {
  const ofRow = 1024 + 64 * truth.classes.length;
  return Math.min(longest, 2 ** 20 + ofRow * ids.length);
}

interface Columns {
  readonly id: number;
  /** One, or one for each class. */
  readonly values: readonly number[];
}

/** Other columns are ignored. */
function columnsOf({ header, rows }: CsvTable, form: SubmissionForm): Columns | { readonly problem: string } {
  const { idColumn, target, values, truth } = form;
  if (header.length === 0) return { problem: "it is empty" };
  const perClass = values === "probabilities" && truth.classes.length > 2;
  const names = perClass ? truth.classes : [target];
  const missing = [idColumn, ...names].filter((name) => !header.includes(name));
  if (missing.length > 0)
    return {
      problem: `it has no column ${missing.map(shown).join(", ")}; its columns are ${header.slice(0, 10).map(shown).join(", ")}`,
    };
  if (rows.length === 0) return { problem: "it has no rows" };
  return { id: header.indexOf(idColumn), values: names.map((name) => header.indexOf(name)) };
}

function joinedRows(
  { rows }: CsvTable,
  column: number,
  ids: readonly string[],
): { readonly rows: readonly (readonly string[])[] } | { readonly problem: string } {
  const byId = new Map<string, readonly string[]>();
  for (const row of rows) {
    const id = canonical(row[column] ?? "");
    if (byId.has(id)) return { problem: `the id ${shown(id)} occurs twice` };
    byId.set(id, row);
  }
  const missing = ids.filter((id) => !byId.has(id));
  if (missing.length > 0)
    return {
      problem: `${missing.length} of ${ids.length} ids of the test set are missing, such as ${shown(missing[0] ?? "")}`,
    };
  if (byId.size > ids.length) {
    const known = new Set(ids);
    const strange = [...byId.keys()].find((id) => !known.has(id)) ?? "";
    return { problem: `${byId.size - ids.length} ids are not in the test set, such as ${shown(strange)}` };
  }
  return { rows: ids.map((id) => byId.get(id) ?? []) };
}

function readValues(
  rows: readonly (readonly string[])[],
  columns: readonly number[],
  { values, truth, ids }: SubmissionForm,
): ReadSubmission {
  const cells = rows.map((row) => columns.map((column) => canonical(row[column] ?? "")));
  const read = values === "labels" ? asLabel(truth) : values === "probabilities" ? asProbability : asNumber;
  for (const [index, row] of cells.entries()) {
    const problem = row.map(read).find((one) => one !== null);
    if (problem !== undefined) return { problem: `the row with id ${shown(ids[index] ?? "")}: ${problem}` };
  }
  if (values === "labels")
    return { predictions: { labels: cells.map(([label = ""]) => label), numbers: [] } };
  const numbers = cells.map((row) => row.map(Number));
  const without = numbers.findIndex((row) => row.length > 1 && !row.some((one) => one > 0));
  if (without !== -1)
    return { problem: `the row with id ${shown(ids[without] ?? "")}: all probabilities are 0` };
  return { predictions: { labels: [], numbers } };
}

/** What is wrong with a value; null: nothing. */
type Check = (cell: string) => string | null;

function asLabel({ classes }: Truth): Check {
  const known = new Set(classes);
  return (cell) => {
    // `none` or `NA` may be a class.
    if (known.has(cell)) return null;
    if (isMissing(cell)) return "its value is missing";
    return `${shown(cell)} is not one of the classes ${classes.slice(0, 12).map(shown).join(", ")}`;
  };
}

function asNumber(cell: string): string | null {
  if (isMissing(cell)) return "its value is missing";
  return Number.isFinite(Number(cell)) ? null : `${shown(cell)} is not a number`;
}

function asProbability(cell: string): string | null {
  const problem = asNumber(cell);
  if (problem !== null) return problem;
  return Number(cell) >= 0 && Number(cell) <= 1 ? null : `${shown(cell)} is not a probability`;
}

function isMissing(cell: string): boolean {
  return /^(|nan|null|none|na|n\/a)$/i.test(cell);
}

const numeral = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The same value has one form: `1.0` is `1`, `true` is `True`. Numbers too long for a double stay text. */
export function canonical(cell: string): string {
  const text = cell.trim();
  if (/^(true|false)$/i.test(text)) return `${text.charAt(0).toUpperCase()}${text.slice(1).toLowerCase()}`;
  if (!numeral.test(text) || text.length > 15) return text;
  const value = Number(text);
  return Number.isFinite(value) ? String(value === 0 ? 0 : value) : text;
}

function shown(text: string): string {
  return `“${showText(text, 60)}”`;
}
