/** The texts of the index, for the thread that searches them: blocks are read from the file when they are searched. */
import { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { firstThat } from "../first-that.ts";
import { plainly } from "./files.ts";
import { blockColumns, type Head } from "./format.ts";
import { Growing } from "./growing.ts";

const names = ["texts", "blocks", "filters"] as const;
type Name = (typeof names)[number];

/** Blocks whose texts are kept, for excerpts. */
const kept = 64;

export class IndexTexts {
  readonly #folder: string;
  readonly #files: Readonly<Record<Name, Growing>>;
  readonly #contents: number;
  readonly #written: Map<number, readonly string[]>;
  readonly head: Head;
  /** Of each text, folded, in bytes. */
  readonly lengths: Uint32Array;
  readonly #rows: Float64Array;
  readonly #filters: Uint8Array;

  private constructor(
    folder: string,
    head: Head,
    files: Readonly<Record<Name, Growing>>,
    contents: number,
    written: Map<number, readonly string[]>,
  ) {
    [this.#folder, this.#files, this.#contents, this.#written] = [folder, files, contents, written];
    this.head = head;
    this.lengths = new Uint32Array(files.texts.buffer, 0, files.texts.length / 4);
    this.#rows = new Float64Array(files.blocks.buffer, 0, files.blocks.length / 8);
    this.#filters = new Uint8Array(files.filters.buffer, 0, files.filters.length);
  }

  /** @param before what was read up to then, which is extended if it is of the same index */
  static async read(folder: string, head: Head, before: IndexTexts | null): Promise<IndexTexts> {
    const isSame = before !== null && before.head.generation === head.generation && before.#folder === folder;
    if (before !== null && !isSame) before.close();
    const files = isSame
      ? before.#files
      : { texts: new Growing(), blocks: new Growing(), filters: new Growing() };
    for (const name of names)
      await files[name].read(path.join(folder, `${name}.bin`), head.files[name].bytes);
    return isSame
      ? new IndexTexts(folder, head, files, before.#contents, before.#written)
      : new IndexTexts(folder, head, files, openSync(path.join(folder, "contents.bin"), plainly), new Map());
  }

  close(): void {
    closeSync(this.#contents);
  }

  get blocks(): number {
    return this.#rows.length / blockColumns.length;
  }

  filterOf(block: number): Uint8Array {
    const start = this.#of(block, 4);
    return this.#filters.subarray(start, start + this.#of(block, 5));
  }

  firstText(block: number): number {
    return this.#of(block, 3);
  }

  /** Folded, with a zero between texts. @throws Error if the file was changed */
  folded(block: number): Buffer {
    return zstdDecompressSync(this.#read(this.#of(block, 0), this.#of(block, 1)));
  }

  /** A text as it was written. @throws Error if the file was changed */
  text(row: number): string {
    const block = firstThat(this.blocks, (at) => this.firstText(at) > row) - 1;
    return this.#textsOf(block)[row - this.firstText(block)] ?? "";
  }

  #textsOf(block: number): readonly string[] {
    const known = this.#written.get(block);
    if (known !== undefined) return known;
    const dictionary = this.folded(block);
    const [start, bytes, writtenBytes] = [this.#of(block, 0), this.#of(block, 1), this.#of(block, 2)];
    const written =
      writtenBytes === 0
        ? dictionary
        : zstdDecompressSync(this.#read(start + bytes, writtenBytes), { dictionary });
    const texts = written.toString("utf8").split("\0");
    this.#written.set(block, texts);
    const [oldest] = this.#written.keys();
    if (this.#written.size > kept && oldest !== undefined) this.#written.delete(oldest);
    return texts;
  }

  #read(start: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    readSync(this.#contents, bytes, 0, length, start);
    return bytes;
  }

  #of(block: number, column: number): number {
    return this.#rows[block * blockColumns.length + column] ?? 0;
  }
}
