/** Decodes a parquet file, one row group at a time. Damaged files can make it loop, or fail outside any promise. */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, type Compressors } from "hyparquet";
import { compressors as given } from "hyparquet-compressors";
import type { Row } from "./row.ts";

/**
 * An empty page, such as the dictionary of a column without values, is one byte of LZ4, which the decoder takes for the
 * start of a sequence.
 */
const compressors: Compressors = Object.fromEntries(
  Object.entries(given).map(([codec, decode]) => [
    codec,
    (input: Uint8Array, length: number) => (length === 0 ? new Uint8Array() : decode(input, length)),
  ]),
);

/** @param columns to read, if the file has them; absent: all */
export async function* rowGroups(file: string, columns?: readonly string[]): AsyncGenerator<readonly Row[]> {
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer);
  const present = metadata.schema.map(({ name }) => name);
  const wanted = columns?.filter((column) => present.includes(column));
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const chosen = { ...(wanted && { columns: wanted }), rowStart, rowEnd };
    const rows = await parquetReadObjects({ file: buffer, metadata, compressors, ...chosen });
    yield rows.map(plain) as readonly Row[];
    rowStart = rowEnd;
  }
}

/** Values of JSON: 64-bit integers become numbers if they fit, otherwise decimal text. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array, plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}
