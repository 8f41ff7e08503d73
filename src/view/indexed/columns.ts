/** The rows of the index in memory: what lists are filtered by. The texts are searched in another thread (`texts.ts`). */
import { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { plainly } from "./files.ts";
import { rowFiles, type Head } from "./format.ts";
import { Growing } from "./growing.ts";

const names = ["episodes", "actions", "prompts"] as const;
type Name = (typeof names)[number];

export class IndexColumns {
  readonly #folder: string;
  readonly #files: Readonly<Record<Name, Growing>>;
  readonly #ids: number;
  #isClosed = false;
  readonly head: Head;
  readonly rows: Readonly<Record<Name, Uint32Array>>;
  /** The rewards of `rows.actions`, at the same places. */
  readonly floats: Float32Array;

  private constructor(folder: string, head: Head, files: Readonly<Record<Name, Growing>>, ids: number) {
    this.#folder = folder;
    this.#files = files;
    this.#ids = ids;
    this.head = head;
    this.rows = {
      episodes: words(files.episodes),
      actions: words(files.actions),
      prompts: words(files.prompts),
    };
    this.floats = new Float32Array(files.actions.buffer, 0, files.actions.length / 4);
  }

  /** @param before what was read up to then, which is extended if it is of the same index */
  static async read(folder: string, head: Head, before: IndexColumns | null): Promise<IndexColumns> {
    const isSame = before !== null && before.head.generation === head.generation && before.#folder === folder;
    if (before !== null && !isSame) before.close();
    const files = isSame
      ? before.#files
      : { episodes: new Growing(), actions: new Growing(), prompts: new Growing() };
    for (const name of names)
      await files[name].read(path.join(folder, `${name}.bin`), head.files[name].bytes);
    const ids = isSame ? before.#ids : openSync(path.join(folder, "ids.bin"), plainly);
    return new IndexColumns(folder, head, files, ids);
  }

  close(): void {
    this.#isClosed = true;
    closeSync(this.#ids);
  }

  /** A value of a row. */
  at(file: Name, row: number, column: number): number {
    return this.rows[file][row * rowFiles[file].length + column] ?? 0;
  }

  /** Of a row of `actions`. */
  reward(row: number): number {
    return this.floats[row * rowFiles.actions.length + 5] ?? 0;
  }

  /** Of an episode's actions, in the order of their first rows. */
  actionIds(episode: number): readonly string[] {
    // The number of a closed file may be that of another one.
    if (this.#isClosed) throw new TroupeError("bad_run", "The run was cut, and is indexed again; ask again.");
    const start = episode === 0 ? 0 : this.at("episodes", episode - 1, 2);
    const bytes = Buffer.alloc(this.at("episodes", episode, 2) - start);
    readSync(this.#ids, bytes, 0, bytes.length, start);
    return bytes.toString("utf8").split("\0").slice(0, -1);
  }
}

function words({ buffer, length }: Growing): Uint32Array {
  return new Uint32Array(buffer, 0, length / 4);
}
