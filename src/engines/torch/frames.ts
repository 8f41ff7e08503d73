/**
 * Messages on a pipe, as in python/troupe_torch/frames.py: a mark, the length of a JSON header in 4 bytes, the header, then
 * the arrays that its `arrays` lists with name, type and shape. Everything is little-endian.
 */
import { endianness } from "node:os";
import type { Readable, Writable } from "node:stream";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";

export type FrameArray = Int32Array | Float32Array | Uint8Array;

export interface Message {
  readonly header: Readonly<Record<string, unknown>>;
  readonly arrays: Readonly<Record<string, FrameArray>>;
}

interface Listed {
  readonly name: string;
  readonly type: keyof typeof types;
  readonly shape: readonly number[];
}

const types = { i32: Int32Array, f32: Float32Array, u8: Uint8Array } as const;

/** Of each message: a Python that prints something itself is noticed at once. */
const mark = Buffer.from([0xf0, ...Buffer.from("TRM")]);
const startLength = mark.length + 4;
const largestBody = 2 ** 40;

export function writeMessage(stream: Writable, { header, arrays }: Message): void {
  checkOrder();
  const listed = Object.entries(arrays).map(([name, array]): Listed => {
    return { name, type: typeOf(array), shape: [array.length] };
  });
  const text = Buffer.from(JSON.stringify({ ...header, arrays: listed }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  stream.cork();
  stream.write(Buffer.concat([mark, length, text]));
  for (const array of Object.values(arrays))
    // A copy: the caller may use its array again before the pipe has taken it.
    stream.write(Buffer.from(new Uint8Array(array.buffer, array.byteOffset, array.byteLength)));
  stream.uncork();
}

function typeOf(array: FrameArray): Listed["type"] {
  if (array instanceof Int32Array) return "i32";
  return array instanceof Float32Array ? "f32" : "u8";
}

/** No machine on which the engine runs has the other order. */
function checkOrder(): void {
  if (endianness() !== "LE")
    throw new TroupeError("unsupported", "The engine `torch` needs a little-endian processor.");
}

/** @param broken called once, with what is wrong, if the stream is not one of messages; nothing is read afterwards */
export function readMessages(
  stream: Readable,
  hear: (message: Message) => void,
  broken: (problem: string) => void,
): void {
  const held = new Chunks();
  let isBroken = false;
  stream.on("data", (chunk: Buffer) => {
    if (isBroken) return;
    held.push(chunk);
    try {
      for (let message = nextMessage(held); message !== null; message = nextMessage(held)) hear(message);
    } catch (error) {
      isBroken = true;
      broken(error instanceof Error ? error.message : String(error));
    }
  });
}

interface Awaited {
  readonly header: Readonly<Record<string, unknown>>;
  readonly listed: readonly Listed[];
  readonly bytes: number;
}

function nextMessage(held: Chunks): Message | null {
  held.awaited ??= nextHeader(held);
  const { awaited } = held;
  if (awaited === null) return null;
  const body = held.take(awaited.bytes);
  if (body === null) return null;
  held.awaited = null;
  let at = 0;
  const arrays = awaited.listed.map(({ name, type, shape }) => {
    const size = sizeOf(shape) * types[type].BYTES_PER_ELEMENT;
    at += size;
    // Copied: arrays begin at multiples of their element's size, and do not keep the whole message alive.
    const own = Uint8Array.from(body.subarray(at - size, at));
    return [name, new types[type](own.buffer)] as const;
  });
  return { header: awaited.header, arrays: Object.fromEntries(arrays) };
}

function nextHeader(held: Chunks): Awaited | null {
  const first = held.start();
  if (!first.subarray(0, mark.length).equals(mark.subarray(0, first.length)))
    throw new Error(`it wrote what is no message: ${showText(JSON.stringify(first.toString()), 200)}`);
  const start = held.peek(startLength);
  if (start === null) return null;
  const end = startLength + start.readUInt32LE(mark.length);
  const text = held.peek(end);
  if (text === null) return null;
  held.take(end);
  const { arrays = [], ...header } = JSON.parse(text.subarray(startLength).toString()) as Record<
    string,
    unknown
  >;
  const listed = arrays as readonly Listed[];
  const bytes = listed.reduce(
    (sum, { type, shape }) => sum + sizeOf(shape) * types[type].BYTES_PER_ELEMENT,
    0,
  );
  if (!(bytes >= 0 && bytes < largestBody)) throw new Error("it wrote a message whose arrays have no size");
  return { header, listed, bytes };
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** What was read and not yet used. */
class Chunks {
  awaited: Awaited | null = null;
  #chunks: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** Null: there is less so far. */
  peek(count: number): Buffer | null {
    if (this.#length < count) return null;
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= count) return first.subarray(0, count);
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole.subarray(0, count);
  }

  /** For messages. */
  start(): Buffer {
    return this.#chunks[0]?.subarray(0, 200) ?? Buffer.alloc(0);
  }

  take(count: number): Buffer | null {
    if (count === 0) return Buffer.alloc(0);
    const found = this.peek(count);
    if (found === null) return null;
    const [first] = this.#chunks as [Buffer];
    this.#length -= count;
    if (first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
    return found;
  }
}
