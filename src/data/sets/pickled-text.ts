/**
 * Reads a Python pickle that contains only a string. Unpickling would execute whatever the file says; this accepts only
 * the operations that `pickle.dumps(text)` writes (protocols 2 to 5), in order.
 * Operations: https://docs.python.org/3/library/pickletools.html
 */
import { RowError } from "./problem-set.ts";

const operation = {
  protocol: 0x80,
  frame: 0x95,
  /** Texts with lengths of one, four and eight bytes. */
  shortText: 0x8c,
  text: 0x58,
  longText: 0x8d,
  memoize: 0x94,
  put: 0x71,
  longPut: 0x72,
  stop: 0x2e,
} as const;

/** @throws RowError if the bytes are anything but a pickled string */
export function readPickledText(bytes: Buffer): string {
  const reader = new Reader(bytes);
  if (reader.byte() !== operation.protocol) throw reader.unexpected();
  const protocol = reader.byte();
  if (protocol < 2 || protocol > 5) throw new RowError(`pickle: protocol ${protocol} is not read`);
  reader.skipFrame();
  const text = reader.text();
  reader.skipFrame();
  reader.skipMemo();
  if (reader.byte() !== operation.stop || !reader.isAtEnd()) throw reader.unexpected();
  return text;
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    return this.#take(1)[0] as number;
  }

  unexpected(): RowError {
    return new RowError(`pickle: expected a single string; something else is at byte ${this.#at - 1}`);
  }

  text(): string {
    const code = this.byte();
    const bytes = this.#take(this.#lengthAfter(code));
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new RowError("pickle: the string is no UTF-8");
    }
  }

  /** A frame only gives the number of bytes to read together. */
  skipFrame(): void {
    if (this.#bytes[this.#at] === operation.frame) this.#take(9);
  }

  /** Memoises the string for later operations; there are none. */
  skipMemo(): void {
    const code = this.#bytes[this.#at];
    if (code === operation.memoize) this.#take(1);
    else if (code === operation.put) this.#take(2);
    else if (code === operation.longPut) this.#take(5);
  }

  #lengthAfter(code: number): number {
    if (code === operation.shortText) return this.byte();
    if (code === operation.text) return this.#take(4).readUInt32LE();
    if (code === operation.longText) return Number(this.#take(8).readBigUInt64LE());
    throw this.unexpected();
  }

  #take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new RowError("pickle: it breaks off");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
