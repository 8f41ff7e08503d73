/**
 * Messages between Troupe and a worker (native/launcher/zygote/frames.py): a letter, the run's number, a length, the payload.
 */
import type { ProgramResult } from "../sandbox.ts";

const headerBytes = 9;

export interface Frame {
  readonly kind: string;
  readonly run: number;
  readonly payload: Buffer;
}

export function encodeFrame(kind: string, run: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.write(kind, 0, "latin1");
  header.writeUInt32BE(run, 1);
  header.writeUInt32BE(payload.length, 5);
  return Buffer.concat([header, payload]);
}

/** Splits a stream into frames. */
export class FrameReader {
  #parts: Buffer[] = [];
  #length = 0;
  readonly #longest: number;

  /** @param longest payload of a worker, in bytes */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @throws RangeError if a frame is longer than that: the stream is damaged */
  push(chunk: Buffer): Frame[] {
    this.#parts.push(chunk);
    this.#length += chunk.length;
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | null {
    if (this.#length < headerBytes) return null;
    const header = this.#peek(headerBytes);
    const size = header.readUInt32BE(5);
    if (size > this.#longest) throw new RangeError(`a frame of ${size} bytes`);
    if (this.#length < headerBytes + size) return null;
    const all = this.#peek(this.#length);
    const rest = all.subarray(headerBytes + size);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    const payload = all.subarray(headerBytes, headerBytes + size);
    return { kind: header.toString("latin1", 0, 1), run: header.readUInt32BE(1), payload };
  }

  /** The first bytes, in one piece. Pieces are joined only if necessary. */
  #peek(size: number): Buffer {
    const [first] = this.#parts;
    if (first !== undefined && first.length >= size) return first;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [joined];
    return joined;
  }
}

/** JSON with its length in front, then bytes. */
export function encodeWith(meta: object, blobs: readonly Uint8Array[]): Buffer {
  const text = Buffer.from(JSON.stringify(meta));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text, ...blobs]);
}

export function decodeWith(payload: Buffer): { meta: unknown; rest: Buffer } {
  const end = 4 + payload.readUInt32BE(0);
  return { meta: JSON.parse(payload.toString("utf8", 4, end)), rest: payload.subarray(end) };
}

interface ResultMeta extends Pick<ProgramResult, "ended" | "exitCode" | "signal" | "seconds" | "peakBytes"> {
  readonly stdout: number;
  readonly stderr: number;
  readonly files: readonly (readonly [string, number])[];
}

export function decodeResult(payload: Buffer): ProgramResult {
  const { meta, rest } = decodeWith(payload);
  const { stdout, stderr, files, ...ending } = meta as ResultMeta;
  let at = 0;
  const take = (size: number): Buffer => rest.subarray(at, (at += size));
  const texts = { stdout: take(stdout).toString("utf8"), stderr: take(stderr).toString("utf8") };
  // A copy: a view of a few bytes would keep the whole answer in memory.
  const contents = files.map(([name, size]) => [name, Uint8Array.from(take(size))] as const);
  return { ...ending, ...texts, files: Object.fromEntries(contents) };
}
