/** The index of a run as the server uses it: one thread keeps its files up to date, one searches its texts, and its rows are read here. */
import { Worker } from "node:worker_threads";
import { IndexColumns } from "./columns.ts";
import { Searches } from "./searches.ts";
import type { IndexNews, IndexOrder } from "./worker.ts";

const program = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class RunIndex {
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  #columns: IndexColumns | null = null;
  #reading: Promise<void> = Promise.resolve();
  #problem: string | null = null;
  #isClosed = false;
  readonly searches = new Searches();

  constructor(order: IndexOrder) {
    this.#worker = new Worker(program, { workerData: order });
    // Nothing of a viewer keeps the process but its server.
    this.#worker.unref();
    // Not `once`, which rejects if the thread fails first: that is this run's problem only.
    this.#ended = new Promise((resolve) => this.#worker.on("exit", resolve));
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

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    this.#worker.postMessage("end");
    await this.#ended;
    await this.#reading;
    await this.searches.close();
    this.#columns?.close();
    this.#columns = null;
  }

  async #take({ folder, head, problem }: IndexNews): Promise<void> {
    if (this.#isClosed) return;
    this.#problem = problem ?? null;
    if (head === null) return;
    const before = this.#columns;
    if (before?.head.generation !== head.generation) {
      this.searches.forget();
      this.#columns = null;
    }
    this.searches.extend(folder, head);
    this.#columns = await IndexColumns.read(folder, head, before);
  }
}
