/** The texts of a run's tokens, by policy. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCoder } from "../text/coder.ts";
import { openSavedRun, weightsOfPolicy } from "../train/weights.ts";
import type { TokenTable } from "./token-views.ts";

export type FoundTable =
  | { readonly table: TokenTable; readonly problem: null }
  | { readonly table: null; readonly problem: string };

export class Tokenizers {
  readonly #directory: string;
  readonly #tables = new Map<string, Promise<FoundTable>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  of(policy: string): Promise<FoundTable> {
    const found = this.#tables.get(policy) ?? this.#load(policy);
    this.#tables.set(policy, found);
    return found;
  }

  async #load(policy: string): Promise<FoundTable> {
    const scratch = await mkdtemp(join(tmpdir(), "troupe-view-"));
    try {
      const { text } = await weightsOfPolicy(await openSavedRun(this.#directory), policy, scratch);
      return { table: tableIn(text), problem: null };
    } catch (error) {
      // A model may be gone, or a checkpoint not be there yet: then it is looked for again.
      this.#tables.delete(policy);
      return { table: null, problem: (error as Error).message };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

function tableIn(directory: string): TokenTable {
  const { bytes, vocabulary } = loadCoder(directory);
  const all = bytes.all();
  const starts = new Uint32Array(all.lengths.length + 1);
  for (const [id, length] of all.lengths.entries()) starts[id + 1] = (starts[id] ?? 0) + length;
  return { bytes: all.bytes, starts, control: new Set(vocabulary.control.map(({ id }) => id)) };
}
