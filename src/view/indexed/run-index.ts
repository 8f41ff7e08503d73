/** The index of a run as the server uses it: a thread keeps its files up to date, and what they have is read here. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { IndexColumns } from "./columns.ts";
import { Search } from "./search.ts";
import type { IndexNews, IndexOrder } from "./worker.ts";

const program = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** Searches that are kept. */
const kept = 8;

export class RunIndex {
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  #columns: IndexColumns | null = null;
  #reading: Promise<void> = Promise.resolve();
  #problem: string | null = null;
  #isClosed = false;
  /** By text; the oldest first. */
  readonly #searches = new Map<string, Search>();

  constructor(order: IndexOrder) {
    this.#worker = new Worker(program, { workerData: order });
    // Nothing of a viewer keeps the process but its server.
    this.#worker.unref();
    this.#ended = once(this.#worker, "exit");
    this.#worker.on("message", (news: IndexNews) => {
      this.#reading = this.#reading
        .then(() => this.#take(news))
        .catch((error: Error) => {
          this.#problem = error.message;
        });
    });
    this.#worker.on("error", (error) => (this.#problem = (error as Error).message));
  }

  /** Null: nothing has been read yet. */
  get columns(): IndexColumns | null {
    return this.#columns;
  }

  /** Why indexing stopped. */
  get problem(): string | null {
    return this.#problem;
  }

  search(text: string): Search {
    const search = this.#searches.get(text) ?? new Search(text);
    this.#searches.delete(text);
    this.#searches.set(text, search);
    const [oldest] = this.#searches.values();
    if (this.#searches.size > kept && oldest !== undefined) {
      oldest.stop();
      this.#searches.delete(oldest.text);
    }
    return search;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#forgetSearches();
    this.#worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    this.#worker.postMessage("end");
    await this.#ended;
    await this.#reading;
    this.#columns?.close();
    this.#columns = null;
  }

  async #take({ folder, head, problem }: IndexNews): Promise<void> {
    if (this.#isClosed) return;
    this.#problem = problem ?? null;
    const before = this.#columns;
    if (before?.head.generation !== head.generation) {
      this.#forgetSearches();
      this.#columns = null;
    }
    this.#columns = await IndexColumns.read(folder, head, before);
  }

  #forgetSearches(): void {
    for (const search of this.#searches.values()) search.stop();
    this.#searches.clear();
  }
}
