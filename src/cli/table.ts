/** Aligns columns of text. */
import { stripVTControlCharacters } from "node:util";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** In a terminal that is too narrow, columns with this number are left out, the lowest first. Absent: never. */
  readonly leftOut?: number;
}

/** Columns of the terminal, or what COLUMNS says; Infinity: the output is read by a program. */
export function terminalWidth(): number {
  const given = Number(process.env["COLUMNS"]);
  return process.stdout.columns ?? (Number.isInteger(given) && given > 0 ? given : Infinity);
}

/**
 * The lines of a table: titles, a rule, the rows, without trailing white space.
 * @param width of the terminal: columns that need not be shown are left out until the table fits
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const lines = allLines(columns, rows);
  const least = Math.min(...columns.map(({ leftOut = Infinity }) => leftOut));
  if (visibleLength(lines[1] ?? "") <= width || least === Infinity) return lines;
  const kept = columns.map(({ leftOut }) => leftOut !== least);
  const only = <T>(row: readonly T[]): T[] => row.filter((_, index) => kept[index]);
  return tableLines(only(columns), rows.map(only), width);
}

function allLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const titles = columns.map((column) => column.title);
  const widths = columns.map((_, index) =>
    Math.max(...[titles, ...rows].map((row) => visibleLength(row[index] ?? ""))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, index) => pad(cells[index] ?? "", widths[index] ?? 0, column.align))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  return [line(titles), rule, ...rows.map(line)];
}

function pad(text: string, width: number, align: Column["align"] = "left"): string {
  const space = " ".repeat(Math.max(0, width - visibleLength(text)));
  return align === "right" ? space + text : text + space;
}

/** Visible characters: colours do not count. */
export function visibleLength(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length;
}

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
