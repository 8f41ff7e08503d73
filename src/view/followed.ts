/**
 * A file of JSON lines that another process extends, or cuts and extends again, as a resumed run does: what is new in
 * it, without reading it all again.
 */
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { cannotRead, statOf } from "../present.ts";

export interface Line {
  readonly text: string;
  /** Its range in the file, without and with its line feed. */
  readonly start: number;
  readonly end: number;
}

export interface LineReader {
  /** Forget every line: the file is another one from here on. */
  readonly reset: () => void;
  /** Lines in order. @throws SyntaxError for one that is damaged, which the last may be while it is being written */
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
   * @throws TroupeError `bad_run` for a damaged line before the last, and if the file cannot be read
   */
  refresh(): Promise<boolean> {
    const read = this.#reading.then(() => this.#read());
    this.#reading = read.catch(() => {});
    return read;
  }

  async #read(): Promise<boolean> {
    const found = await statOf(this.file);
    const size = found?.isFile() === true ? found.size : 0;
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
      rest = bytes.subarray(this.#addLines(bytes, at >= size));
      if (rest.length > mostBytes) throw endless(this.file, `line ${this.#lines + 1}`);
    }
    return this.#lines > before;
  }

  /** Returns how many bytes the complete lines have. */
  #addLines(bytes: Buffer, isEnd: boolean): number {
    let start = 0;
    for (let feed = bytes.indexOf(10); feed !== -1; feed = bytes.indexOf(10, start)) {
      const line = bytes.subarray(start, feed + 1);
      const isLast = isEnd && feed + 1 === bytes.length;
      if (!this.#addLine(line, isLast)) return start;
      start = feed + 1;
    }
    return start;
  }

  /** False: it is the last, and not complete. */
  #addLine(line: Buffer, isLast: boolean): boolean {
    const [start, end] = [this.#end, this.#end + line.length];
    try {
      this.#reader.add({ text: line.toString("utf8", 0, line.length - 1), start, end });
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      if (isLast) return false;
      const problem = `${this.file}:${this.#lines + 1} is not what a run writes there: ${cause.message}`;
      throw new TroupeError("bad_run", `${problem}. Restore the line.`, { cause });
    }
    [this.#end, this.#lines, this.#last] = [end, this.#lines + 1, Buffer.from(line)];
    return true;
  }
}

function endless(file: string, line: string): TroupeError {
  const problem = `${file} is damaged: ${line} has more than ${mostBytes} bytes`;
  return new TroupeError(
    "bad_run",
    `${problem}; expected a record, and a line feed after it. Restore the file.`,
  );
}

/** The last complete line of a file. Null: there is none. @throws TroupeError `bad_run` if it is too long */
export async function lastLine(file: string): Promise<string | null> {
  const found = await statOf(file);
  const size = found?.isFile() === true ? found.size : 0;
  if (size === 0) return null;
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
