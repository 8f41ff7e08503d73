/**
 * Files with one JSON object per line. A line is appended by one write; a process that is killed can leave at most an
 * incomplete last line, which readers ignore and the next writer truncates.
 */
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { cannotRead, isPresent, statOf } from "../present.ts";
import { writing } from "./durable.ts";
import { piecesOf } from "./regular.ts";

export interface StoredLine {
  readonly value: Readonly<Record<string, unknown>>;
  /** Byte offset of the line's end, including its line feed. */
  readonly end: number;
}

export async function appendLine(file: string, value: object): Promise<void> {
  await appendLines(file, [value]);
}

/** In one write. */
export async function appendLines(file: string, values: readonly object[]): Promise<void> {
  const text = values.map((value) => `${JSON.stringify(value)}\n`).join("");
  await writing(file, () => fs.appendFile(file, text));
}

/**
 * The complete lines of a file; none if it does not exist. @throws TroupeError `bad_run` for a damaged line before the
 * last
 */
export async function readLines(file: string): Promise<StoredLine[]> {
  const lines: StoredLine[] = [];
  /** Of a line whose end is in a later piece. */
  let begun: Buffer[] = [];
  let end = 0;
  let isBad = false;
  for await (const piece of bytesOf(file)) {
    let start = 0;
    for (let feed = piece.indexOf(10); feed !== -1; feed = piece.indexOf(10, start)) {
      // Only the last line may be bad.
      if (isBad) throw damaged(file, lines.length + 1);
      const line = Buffer.concat([...begun, piece.subarray(start, feed)]);
      [begun, start, end] = [[], feed + 1, end + line.length + 1];
      const value = parseObject(line.toString("utf8"));
      isBad = value === null;
      if (value !== null) lines.push({ value, end });
    }
    if (start < piece.length) begun.push(piece.subarray(start));
  }
  if (isBad && begun.length > 0) throw damaged(file, lines.length + 1);
  return lines;
}

/** Truncates the file after the leading lines that `keep` accepts. */
export async function cutLines(
  file: string,
  keep: (value: StoredLine["value"]) => boolean,
): Promise<StoredLine["value"][]> {
  const lines = await readLines(file);
  const rejected = lines.findIndex((line) => !keep(line.value));
  const kept = rejected === -1 ? lines : lines.slice(0, rejected);
  const end = kept.at(-1)?.end ?? 0;
  const size = (await statOf(file))?.size ?? 0;
  if (size > end) await writing(file, () => fs.truncate(file, end));
  return kept.map((line) => line.value);
}

async function* bytesOf(file: string): AsyncGenerator<Buffer, void> {
  if (!(await isPresent(file))) return;
  try {
    yield* piecesOf(file);
  } catch (error) {
    throw error instanceof TroupeError ? error : cannotRead(file, error as Error);
  }
}

function parseObject(text: string): StoredLine["value"] | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as StoredLine["value"])
      : null;
  } catch {
    return null;
  }
}

function damaged(file: string, line: number): TroupeError {
  return new TroupeError(
    "bad_run",
    `${file}:${line} is not a JSON object; the file was changed by another program. ` +
      "Restore the line or remove the run's folder.",
  );
}
