/**
 * Decodes a parquet file, one row group at a time, and returns it in portions. Damaged files can make it loop, or fail
 * outside any promise.
 */
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

/** Of a portion of rows, in characters. */
const largestPortion = 2 ** 26;

/**
 * A row group, in portions: a text that thousands of rows share is stored once, but copied with every row that is sent to
 * another thread.
 * @param columns to read, if the file has them; absent: all
 */
export async function* rowPortions(
  file: string,
  columns?: readonly string[],
): AsyncGenerator<readonly Row[]> {
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer);
  const present = metadata.schema.map(({ name }) => name);
  const wanted = columns?.filter((column) => present.includes(column));
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const chosen = { ...(wanted && { columns: wanted }), rowStart, rowEnd };
    const rows = await parquetReadObjects({ file: buffer, metadata, compressors, ...chosen });
    yield* inPortions(rows.map(plain) as readonly Row[]);
    rowStart = rowEnd;
  }
}

function* inPortions(rows: readonly Row[]): Generator<readonly Row[]> {
  let [start, size] = [0, 0];
  for (const [index, row] of rows.entries()) {
    const own = sizeOf(row);
    if (size + own > largestPortion && index > start) {
      yield rows.slice(start, index);
      [start, size] = [index, 0];
    }
    size += own;
  }
  yield rows.slice(start);
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + sizeOf(each), 1);
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
