import { csvLine } from "../../csv.ts";
import type { Table } from "./tables.ts";

/** A header, then a line per row. */
export function csvLines({ columns, rows }: Table): string[] {
  const cells = [columns, ...rows.map((row) => columns.map((column) => row.get(column) ?? ""))];
  return cells.map((line) => csvLine(line.map(inert)));
}

/** What controls a terminal, or reverses the direction of what follows; not tabs and line feeds. */
const controls = /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu;

/** Text that no spreadsheet runs as a formula (OWASP: CSV injection), and that changes nothing around it. */
function inert<Field extends string | number | boolean>(field: Field): Field | string {
  if (typeof field !== "string") return field;
  const text = field.replace(controls, "\ufffd");
  return /^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}
