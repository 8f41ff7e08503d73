/** The texts of a run's tokens, by policy. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { openSavedRun, weightsOfPolicy } from "../train/weights.ts";
import type { TokenTable } from "./token-views.ts";

export type FoundTable =
  | { readonly table: TokenTable; readonly problem: null }
  | { readonly table: null; readonly problem: string };

const program = new URL(`./token-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

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

  /** Waits for what is being read: it has temporary files. */
  async close(): Promise<void> {
    await Promise.all(this.#tables.values());
  }

  async #load(policy: string): Promise<FoundTable> {
    const scratch = await mkdtemp(join(tmpdir(), "troupe-view-"));
    try {
      const { text } = await weightsOfPolicy(await openSavedRun(this.#directory), policy, scratch);
      return { table: await tableIn(text), problem: null };
    } catch (error) {
      // A model may be gone, or a checkpoint not be there yet: then it is looked for again.
      this.#tables.delete(policy);
      return { table: null, problem: (error as Error).message };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

/** @throws Error if the tokenizer is missing or damaged */
async function tableIn(directory: string): Promise<TokenTable> {
  const worker = new Worker(program, { workerData: directory });
  const [table] = (await once(worker, "message")) as [TokenTable];
  return table;
}
