/** The texts of a run's tokens, by policy. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { openSavedRun, weightsOfPolicy } from "../train/weights.ts";
import { layoutOf } from "../runs/layout.ts";
import { KeptFile } from "./kept-file.ts";
import type { TokenTable } from "./token-views.ts";

export type FoundTable =
  | { readonly table: TokenTable; readonly problem: null }
  | { readonly table: null; readonly problem: string };

const program = new URL(`./token-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class Tokenizers {
  readonly #directory: string;
  /** Until the recipe is another one: then the run is another one, too, whose tokenizer may differ. */
  readonly #tables = new Map<string, KeptFile<TokenTable>>();
  readonly #reading = new Set<Promise<unknown>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async of(policy: string): Promise<FoundTable> {
    const { recipe } = layoutOf(this.#directory);
    const found = this.#tables.get(policy) ?? new KeptFile(recipe, () => this.#load(policy));
    this.#tables.set(policy, found);
    try {
      return { table: await found.value(), problem: null };
    } catch (error) {
      // A model may be gone, or a checkpoint not be there yet: then it is looked for again.
      return { table: null, problem: (error as Error).message };
    }
  }

  /** Waits for what is being read: it has temporary files. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#reading);
  }

  async #load(policy: string): Promise<TokenTable> {
    const reading = this.#read(policy);
    this.#reading.add(reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(reading);
    }
  }

  async #read(policy: string): Promise<TokenTable> {
    const scratch = await mkdtemp(join(tmpdir(), "troupe-view-"));
    try {
      const { text } = await weightsOfPolicy(await openSavedRun(this.#directory), policy, scratch);
      return await tableIn(text);
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
