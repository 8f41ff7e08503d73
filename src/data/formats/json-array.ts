/** Reads files of one JSON array of objects, small enough to be read whole. */
import { TroupeError } from "../../errors.ts";
import { parseWithBigInts } from "../exact-json.ts";
import { openFile } from "./json-lines.ts";
import { asRow, type ReadRow } from "./row.ts";

const largest = 400 * 1024 * 1024;

/** @throws TroupeError `bad_data` if the file is not a JSON array, or too large */
export async function* readJsonArray(file: string, isCompressed: boolean): AsyncGenerator<ReadRow> {
  const rows = parse(file, await readAll(file, isCompressed));
  if (!Array.isArray(rows)) throw new TroupeError("bad_data", `${file}: expected a JSON array of objects`);
  for (const row of rows) yield asRow(row);
}

async function readAll(file: string, isCompressed: boolean): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of openFile(file, isCompressed)) {
    length += piece.length;
    if (length > largest) throw tooLarge(file);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length);
}

function tooLarge(file: string): TroupeError {
  const fix = "write it as JSON lines, one object per line (.jsonl)";
  return new TroupeError("bad_data", `${file} is too large to be read whole; ${fix}`);
}

function parse(file: string, bytes: Buffer): unknown {
  try {
    return parseWithBigInts(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new TroupeError("bad_data", `${file}: no JSON: ${(error as Error).message}`, { cause: error });
  }
}
