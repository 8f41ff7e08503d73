/**
 * Reads files of one JSON object per line, of any size: published ones reach 1.3 GB, more than a string can hold. An
 * unreadable line is a malformed row, not the end of the file.
 */
import { createReadStream } from "node:fs";
import fs from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { TooLongError, wholeBody } from "../../calls/http.ts";
import { TroupeError } from "../../errors.ts";
import { parseWithBigInts } from "../exact-json.ts";
import { asRow, type ReadRow } from "./row.ts";

/** Longer lines are not read: a string could not hold them. */
const longestLine = 400 * 1024 * 1024;
const lineFeed = 10;

export async function* readJsonLines(file: string, isCompressed: boolean): AsyncGenerator<ReadRow> {
  for await (const line of lines(openFile(file, isCompressed))) {
    if (line === null) yield { malformed: `the line is longer than ${longestLine >> 20} MiB` };
    else {
      const row = parseLine(line);
      if (row !== null) yield row;
    }
  }
}

/**
 * The bytes of the file; a damaged archive throws. zlib ends in silence at a zero after an archive, as blocks that were
 * never written read: the archives behind it would be missing.
 */
export async function* openFile(file: string, isCompressed: boolean): AsyncGenerator<Buffer, void> {
  const stream = createReadStream(file, { highWaterMark: 1 << 20 });
  if (!isCompressed) {
    yield* stream as AsyncIterable<Buffer>;
    return;
  }
  const archive = createGunzip();
  stream.on("error", (error) => archive.destroy(error));
  try {
    yield* stream.pipe(archive) as AsyncIterable<Buffer>;
    const { size } = await fs.stat(file);
    if (archive.bytesWritten < size) throw zerosInside(file, archive.bytesWritten, size);
  } finally {
    stream.destroy();
  }
}

function zerosInside(file: string, end: number, size: number): TroupeError {
  const problem = `its archive ends at byte ${end} of ${size}, and zeros follow, as in a copy that was not finished`;
  return new TroupeError(
    "bad_data",
    `${file} is damaged: ${problem}; delete it and download or copy it again`,
  );
}

/** Lines without line feeds; null: too long. */
async function* lines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer | null> {
  let pieces: Buffer[] = [];
  let length = 0;
  const take = (piece: Buffer): void => {
    length += piece.length;
    if (length <= longestLine) pieces.push(piece);
    else pieces = [];
  };
  const line = (): Buffer | null => {
    const whole = length > longestLine ? null : Buffer.concat(pieces);
    [pieces, length] = [[], 0];
    return whole;
  };
  for await (const chunk of bytes) {
    let start = 0;
    for (let feed = chunk.indexOf(lineFeed); feed !== -1; feed = chunk.indexOf(lineFeed, start)) {
      take(chunk.subarray(start, feed));
      yield line();
      start = feed + 1;
    }
    take(chunk.subarray(start));
  }
  if (length > 0) yield line();
}

/** Null: an empty line, which is not a row. */
function parseLine(line: Buffer): ReadRow | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line);
    return text.trim() === "" ? null : asRow(parseWithBigInts(text));
  } catch (error) {
    return { malformed: `no JSON: ${(error as Error).message}` };
  }
}

/** Reads files of one JSON array of objects, small enough to be read whole. */
const largest = 400 * 1024 * 1024;

/** @throws TroupeError `bad_data` if the file is not a JSON array, or too large */
export async function* readJsonArray(file: string, isCompressed: boolean): AsyncGenerator<ReadRow> {
  const rows = parse(file, await readAll(file, isCompressed));
  if (!Array.isArray(rows)) throw new TroupeError("bad_data", `${file}: expected a JSON array of objects`);
  for (const row of rows) yield asRow(row);
}

async function readAll(file: string, isCompressed: boolean): Promise<Buffer> {
  try {
    return await wholeBody(openFile(file, isCompressed), largest);
  } catch (cause) {
    if (!(cause instanceof TooLongError)) throw cause;
    const fix = "write it as JSON lines, one object per line (.jsonl)";
    throw new TroupeError("bad_data", `${file} is too large to be read whole; ${fix}`, { cause });
  }
}

function parse(file: string, bytes: Buffer): unknown {
  try {
    return parseWithBigInts(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new TroupeError("bad_data", `${file}: no JSON: ${(error as Error).message}`, { cause: error });
  }
}
