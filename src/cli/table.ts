/** Aligns columns of text. */
import { stripVTControlCharacters } from "node:util";
import { sum } from "../statistics.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** In a terminal that is too narrow, columns with this number are left out, the lowest first. Absent: never. */
  readonly leftOut?: number;
  /** Once the columns up to this number are left out, long cells are cut in the middle, to no less than `least`. */
  readonly cut?: { readonly after: number; readonly least: number };
}

/** Columns of the terminal, or what COLUMNS says; Infinity: the output is read by a program. */
export function terminalWidth(): number {
  const given = Number(process.env["COLUMNS"]);
  return process.stdout.columns ?? (Number.isInteger(given) && given > 0 ? given : Infinity);
}

/**
 * The lines of a table, without control characters, as they will be printed: titles, a rule, the rows, without trailing white space.
 * @param width of the terminal: cells are cut and columns left out, as few as possible, until the table fits
 */
export function tableLines(
  givenColumns: readonly Column[],
  givenRows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const columns = givenColumns.map((column) => ({ ...column, title: visible(column.title) }));
  const rows = givenRows.map((row) => row.map(visible));
  const left = Math.min(...columns.map(({ leftOut = Infinity }) => leftOut));
  const leasts = columns.map(({ cut: { after, least } = never }) => (after < left ? least : Infinity));
  const widths = cutWidths(naturalWidths(columns, rows), leasts, width);
  const lines = allLines(columns, rows, widths);
  if (totalOf(widths) <= width || left === Infinity) return lines;
  const kept = columns.map(({ leftOut }) => leftOut !== left);
  const only = <T>(row: readonly T[]): T[] => row.filter((_, index) => kept[index]);
  return tableLines(only(columns), rows.map(only), width);
}

/**
 * A table of things that are compared, one in each column but the first: where they do not fit side by side, several
 * tables below each other, with the first column in each.
 */
export function stackedTables(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const tableOf = (kept: readonly number[]): string[] =>
    tableLines(
      columns.filter((_, index) => kept.includes(index)),
      rows.map((row) => row.filter((_, index) => kept.includes(index))),
    );
  const parts: (readonly number[])[] = [];
  for (const index of columns.keys()) {
    if (index === 0) continue;
    const wider = [...(parts.at(-1) ?? []), index];
    const fits = visibleLength(tableOf(wider)[1] ?? "") <= width;
    if (parts.length > 0 && fits) parts[parts.length - 1] = wider;
    else parts.push([0, index]);
  }
  return parts.flatMap((part, index) => [...(index === 0 ? [] : [""]), ...tableOf(part)]);
}

/** A table whose last column is text; in a terminal that is too narrow for it, on lines of its own below each row. */
export function withLastBelow(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const whole = tableLines(columns, rows);
  if (whole.every((line) => visibleLength(line) <= width)) return whole;
  const withoutLast = tableLines(
    columns.slice(0, -1),
    rows.map((row) => row.slice(0, -1)),
    width,
  );
  const [titles, rule] = [withoutLast.slice(0, 1), withoutLast.slice(1, 2)];
  const below = rows.flatMap((row, index) => [
    ...withoutLast.slice(index + 2, index + 3),
    ...wrapped(row.at(-1) ?? "", width - 2).map((line) => `  ${line}`),
  ]);
  return [...titles, ...rule, ...below];
}

function visible(text: string): string {
  return text.replaceAll(/\p{C}/gu, " ");
}

const gap = "  ";
const never = { after: Infinity, least: Infinity };

function totalOf(widths: readonly number[]): number {
  return sum(widths) + gap.length * (widths.length - 1);
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  return columns.map(({ title }, index) =>
    Math.max(...[title, ...rows.map((row) => row[index] ?? "")].map(visibleLength)),
  );
}

/** The widest column that may be cut is cut first. */
function cutWidths(natural: readonly number[], leasts: readonly number[], width: number): number[] {
  const widths = [...natural];
  const spareOf = (index: number): number => (widths[index] ?? 0) - (leasts[index] ?? Infinity);
  while (totalOf(widths) > width) {
    const open = widths.map((_, index) => index).filter((index) => spareOf(index) > 0);
    const [widest] = open.toSorted((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0));
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function allLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widths: readonly number[],
): string[] {
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, index) => pad(cut(cells[index] ?? "", widths[index] ?? 0), widths[index] ?? 0, align))
      .join(gap)
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width)).join(gap);
  return [line(columns.map(({ title }) => title)), rule, ...rows.map(line)];
}

/** Both ends of text without colours, which tell most names apart. */
function cut(text: string, width: number): string {
  if (visibleLength(text) <= width) return text;
  const characters = Array.from(text);
  const half = Math.floor(width / 2);
  let [start, end] = [characters.slice(0, width - half), characters.slice(-half)];
  while (visibleLength([...start, "…", ...end].join("")) > width)
    [start, end] = start.length > end.length ? [start.slice(0, -1), end] : [start, end.slice(1)];
  return [...start, "…", ...end].join("");
}

function pad(text: string, width: number, align: Column["align"] = "left"): string {
  const space = " ".repeat(Math.max(0, width - visibleLength(text)));
  return align === "right" ? space + text : text + space;
}

/** Columns in a terminal: colours and combining marks take none, characters of East Asian scripts and emoji two. */
export function visibleLength(text: string): number {
  return sum(
    Array.from(stripVTControlCharacters(text), (character) =>
      wide.test(character) ? 2 : /[\p{Mn}\p{Me}\p{Cf}]/u.test(character) ? 0 : 1,
    ),
  );
}

const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]/u;

/** Breaks text between words; a word longer than the width has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
