/**
 * A file of JSON lines that another process extends, or cuts and extends again, as a resumed run does: what is new in
 * it, without reading it all again.
 */
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { cannotRead, statOf } from "../present.ts";

export interface Line {
  readonly record: object;
  /** Where it ends in the file, with its line feed. */
  readonly end: number;
}

export interface LineReader {
  /** Forget every line: the file is another one from here on. */
  readonly reset: () => void;
  /** Lines in order. @throws Error for one that is damaged */
  readonly add: (line: Line) => void;
}

const pieceBytes = 2 ** 20;

/** Of a line, which is kept until its line feed is read: far more than a run writes in one. */
const mostBytes = 2 ** 24;

export class FollowedFile {
  readonly file: string;
  readonly #reader: LineReader;
  #end = 0;
  #lines = 0;
  #last = Buffer.alloc(0);
  #reading: Promise<unknown> = Promise.resolve();

  constructor(file: string, reader: LineReader) {
    this.file = file;
    this.#reader = reader;
  }

  /**
   * Passes on what is new. False: nothing. Calls may overlap.
   * @throws TroupeError `bad_run` for a damaged line, and if the file cannot be read; what is before was passed on
   */
  refresh(): Promise<boolean> {
    const read = this.#reading.then(() => this.#read());
    this.#reading = read.catch(() => {});
    return read;
  }

  async #read(): Promise<boolean> {
    const size = await sizeOf(this.file);
    if (this.#end === 0 && size === 0) return false;
    try {
      const isSame = size >= this.#end && (await this.#hasLast());
      if (!isSame) this.#forget();
      if (size === this.#end) return !isSame;
      return (await this.#readTo(size)) || !isSame;
    } catch (error) {
      if (error instanceof TroupeError) throw error;
      throw cannotRead(this.file, error as Error);
    }
  }

  /** Whether the last line is still there: a run that was cut and went on has, with near certainty, another. */
  async #hasLast(): Promise<boolean> {
    if (this.#end === 0) return true;
    await using handle = await fs.open(this.file);
    const there = Buffer.alloc(this.#last.length);
    const { bytesRead } = await handle.read(there, 0, there.length, this.#end - there.length);
    return bytesRead === there.length && there.equals(this.#last);
  }

  #forget(): void {
    [this.#end, this.#lines, this.#last] = [0, 0, Buffer.alloc(0)];
    this.#reader.reset();
  }

  async #readTo(size: number): Promise<boolean> {
    const before = this.#lines;
    await using handle = await fs.open(this.file);
    let rest = Buffer.alloc(0);
    for (let at = this.#end; at < size;) {
      const piece = Buffer.alloc(Math.min(pieceBytes, size - at));
      const { bytesRead } = await handle.read(piece, 0, piece.length, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const bytes = Buffer.concat([rest, piece.subarray(0, bytesRead)]);
      rest = bytes.subarray(this.#addLines(bytes));
      if (rest.length > mostBytes) throw endless(this.file, `line ${this.#lines + 1}`);
    }
    return this.#lines > before;
  }

  /** Returns how many bytes the complete lines have. One without a line feed is still being written. */
  #addLines(bytes: Buffer): number {
    let start = 0;
    for (let feed = bytes.indexOf(10); feed !== -1; feed = bytes.indexOf(10, start)) {
      this.#addLine(bytes.subarray(start, feed + 1));
      start = feed + 1;
    }
    return start;
  }

  #addLine(line: Buffer): void {
    const end = this.#end + line.length;
    try {
      this.#reader.add({ record: recordIn(line.toString("utf8")), end });
    } catch (cause) {
      if (cause instanceof TroupeError) throw cause;
      const why = (cause as Error).message;
      const problem = `${this.file}:${this.#lines + 1} is not what a run writes there: ${why}`;
      throw new TroupeError("bad_run", `${problem}. Restore the line.`, { cause });
    }
    [this.#end, this.#lines, this.#last] = [end, this.#lines + 1, Buffer.from(line)];
  }
}

/** @throws SyntaxError */
function recordIn(line: string): object {
  const value: unknown = JSON.parse(line);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new SyntaxError("it is not a JSON object");
}

/** 0 also if it is not there. @throws TroupeError `bad_run` for what is no file: a pipe has no end */
async function sizeOf(file: string): Promise<number> {
  const found = await statOf(file);
  if (found === null || found.isFile()) return found?.size ?? 0;
  const problem = `${file} is a folder, a pipe or a device; expected a file`;
  throw new TroupeError("bad_run", `${problem}. Put the run's own file back, or remove it.`);
}

function endless(file: string, line: string): TroupeError {
  const problem = `${file} is damaged: ${line} has more than ${mostBytes} bytes`;
  return new TroupeError(
    "bad_run",
    `${problem}; expected a record, and a line feed after it. Restore the file.`,
  );
}

/**
 * The last complete line of a file. Null: there is none.
 * @throws TroupeError `bad_run` if it is too long, and if the file cannot be read
 */
export async function lastLine(file: string): Promise<string | null> {
  const size = await sizeOf(file);
  try {
    return size === 0 ? null : await lastLineBefore(size, file);
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    throw cannotRead(file, error as Error);
  }
}

async function lastLineBefore(size: number, file: string): Promise<string | null> {
  await using handle = await fs.open(file);
  for (let length = 2 ** 14; ; length *= 4) {
    const start = Math.max(0, size - length);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
    const tail = buffer.subarray(0, bytesRead);
    const end = tail.lastIndexOf(10);
    const feed = end <= 0 ? -1 : tail.lastIndexOf(10, end - 1);
    if (end > 0 && (feed !== -1 || start === 0)) return tail.toString("utf8", feed + 1, end);
    if (start === 0) return null;
    if (length > mostBytes) throw endless(file, "the last line");
  }
}
