import { csvLine } from "../../csv.ts";
import type { Table } from "./tables.ts";

/** A header, then a line per row. */
export function csvLines({ columns, rows }: Table): string[] {
  return [columns, ...rows.map((row) => columns.map((column) => row.get(column) ?? ""))].map(csvLine);
}
