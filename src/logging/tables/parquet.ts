import type { BasicType, ColumnSource } from "hyparquet-writer";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { CellValue } from "../cells.ts";
import type { Table } from "./tables.ts";

/** Whole numbers in every run, so that the type of a column does not depend on its values. */
const counts = /^(schema_version|step|stageStep|turn|phase|sample|policyVersion|promptTokens|tokens)$/;

/** The table as a Parquet file, compressed with Snappy. */
export function parquetFile({ columns, rows }: Table): Uint8Array {
  const columnData = columns.map((name) => columnOf(name, rows));
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}

function columnOf(name: string, rows: Table["rows"]): ColumnSource {
  const cells = rows.map((row) => row.get(name) ?? null);
  const type = typeOf(name, cells);
  // A column whose values are of several types is text.
  const data = type === "STRING" ? cells.map((cell) => (cell === null ? null : String(cell))) : cells;
  return { name, type, nullable: true, data };
}

function typeOf(name: string, cells: readonly (CellValue | null)[]): BasicType {
  const types = new Set(cells.flatMap((cell) => (cell === null ? [] : [typeof cell])));
  const [type] = types;
  if (types.size !== 1 || type === "string") return "STRING";
  if (type === "boolean") return "BOOLEAN";
  return counts.test(name) ? "INT32" : "DOUBLE";
}
