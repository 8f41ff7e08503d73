import type { Cell } from "../cells.ts";
import type { Table } from "./tables.ts";

/** A header, then a line per row. */
export function csvLines({ columns, rows }: Table): string[] {
  return [columns, ...rows.map((row) => columns.map((column) => row.get(column) ?? ""))].map((cells) =>
    cells.map(quoted).join(),
  );
}

/** RFC 4180. */
function quoted(cell: Cell): string {
  const text = String(cell);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
