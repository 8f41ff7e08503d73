/** The index in memory: its rows and filters. Texts stay in the file, from which blocks are read as they are searched. */
import fs from "node:fs/promises";
import { openSync, readSync, closeSync } from "node:fs";
import path from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { TroupeError } from "../../errors.ts";
import { blockColumns, rowFiles, type Head, type IndexFile, type RowFile } from "./format.ts";

/** Bytes of a file as far as they count, with room to grow. */
class Growing {
  #bytes = new Uint8Array(2 ** 12);
  length = 0;

  async read(file: string, end: number): Promise<void> {
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(2 ** Math.ceil(Math.log2(end * 1.1)));
      larger.set(this.#bytes.subarray(0, this.length));
      this.#bytes = larger;
    }
    if (end === this.length) return;
    await using handle = await fs.open(file);
    const { bytesRead } = await handle.read(this.#bytes, this.length, end - this.length, this.length);
    if (bytesRead < end - this.length) throw new TroupeError("bad_run", `${file} ends before ${end} bytes`);
    this.length = end;
  }

  get buffer(): ArrayBuffer {
    return this.#bytes.buffer;
  }
}

export interface Block {
  readonly firstText: number;
  /** As written, with a zero between texts. */
  readonly text: string;
}

const kept = 16;

export class IndexColumns {
  readonly #folder: string;
  readonly #files = new Map<IndexFile, Growing>();
  readonly #blocks = new Map<number, Block>();
  #isClosed = false;
  readonly head: Head;
  readonly rows: Readonly<Record<RowFile, Uint32Array>>;
  /** The rewards of `rows.actions`, at the same places. */
  readonly floats: Float32Array;
  readonly blockRows: Float64Array;
  readonly filters: Uint8Array;
  readonly #contents: number;
  readonly #ids: number;

  private constructor(
    folder: string,
    head: Head,
    files: Map<IndexFile, Growing>,
    open: readonly [number, number],
  ) {
    this.#folder = folder;
    this.#files = files;
    [this.#contents, this.#ids] = open;
    this.head = head;
    const words = (name: RowFile): Uint32Array => {
      const file = files.get(name);
      return new Uint32Array(file?.buffer ?? new ArrayBuffer(0), 0, (file?.length ?? 0) / 4);
    };
    this.rows = {
      episodes: words("episodes"),
      actions: words("actions"),
      prompts: words("prompts"),
      texts: words("texts"),
    };
    const actions = files.get("actions");
    this.floats = new Float32Array(actions?.buffer ?? new ArrayBuffer(0), 0, (actions?.length ?? 0) / 4);
    const blocks = files.get("blocks");
    this.blockRows = new Float64Array(blocks?.buffer ?? new ArrayBuffer(0), 0, (blocks?.length ?? 0) / 8);
    const filters = files.get("filters");
    this.filters = new Uint8Array(filters?.buffer ?? new ArrayBuffer(0), 0, filters?.length ?? 0);
  }

  /** @param before what was read up to then, which is extended if it is of the same index */
  static async read(folder: string, head: Head, before: IndexColumns | null): Promise<IndexColumns> {
    const isSame = before !== null && before.head.generation === head.generation && before.#folder === folder;
    if (before !== null && !isSame) before.close();
    const files = isSame ? before.#files : new Map<IndexFile, Growing>();
    for (const name of ["episodes", "actions", "prompts", "texts", "blocks", "filters"] as const) {
      const file = files.get(name) ?? new Growing();
      files.set(name, file);
      await file.read(path.join(folder, `${name}.bin`), head.files[name].bytes);
    }
    const opened = (name: IndexFile): number => openSync(path.join(folder, `${name}.bin`), "r");
    const open = isSame
      ? ([before.#contents, before.#ids] as const)
      : ([opened("contents"), opened("ids")] as const);
    return new IndexColumns(folder, head, files, open);
  }

  close(): void {
    this.#isClosed = true;
    for (const file of [this.#contents, this.#ids]) closeSync(file);
  }

  get blocks(): number {
    return this.blockRows.length / blockColumns.length;
  }

  /** A value of a row. */
  at(file: RowFile, row: number, column: number): number {
    return this.rows[file][row * rowFiles[file].length + column] ?? 0;
  }

  /** Of a row of `actions`. */
  reward(row: number): number {
    return this.floats[row * rowFiles.actions.length + 5] ?? 0;
  }

  filterOf(block: number): Uint8Array {
    const [start, bytes] = [this.#ofBlock(block, 3), this.#ofBlock(block, 4)];
    return this.filters.subarray(start, start + bytes);
  }

  /** @throws Error if the file was changed */
  block(number: number): Block {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    this.#checkOpen();
    const compressed = Buffer.alloc(this.#ofBlock(number, 1));
    readSync(this.#contents, compressed, 0, compressed.length, this.#ofBlock(number, 0));
    const text = zstdDecompressSync(compressed).toString("utf8");
    const block = { text, firstText: this.#ofBlock(number, 2) };
    this.#blocks.set(number, block);
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > kept && oldest !== undefined) this.#blocks.delete(oldest);
    return block;
  }

  /** A text of a prompt or a reply. */
  text(row: number): string {
    let [low, high] = [0, this.blocks - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#ofBlock(middle, 2) <= row) low = middle;
      else high = middle - 1;
    }
    const { text, firstText } = this.block(low);
    let start = 0;
    for (let at = firstText; at < row; at++) start += this.at("texts", at, 1) + 1;
    return text.slice(start, start + this.at("texts", row, 1));
  }

  /** Of an episode's actions, in the order of their first rows. */
  actionIds(episode: number): readonly string[] {
    this.#checkOpen();
    const start = episode === 0 ? 0 : this.at("episodes", episode - 1, 2);
    const bytes = Buffer.alloc(this.at("episodes", episode, 2) - start);
    readSync(this.#ids, bytes, 0, bytes.length, start);
    return bytes.toString("utf8").split("\0").slice(0, -1);
  }

  /** The number of a closed file may be that of another one. */
  #checkOpen(): void {
    if (this.#isClosed) throw new TroupeError("bad_run", "The run was cut, and is indexed again; ask again.");
  }

  #ofBlock(block: number, column: number): number {
    return this.blockRows[block * blockColumns.length + column] ?? 0;
  }
}
