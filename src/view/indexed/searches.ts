/** Searches of a run in the server's thread, which knows what was found; another thread searches. */
import { Worker } from "node:worker_threads";
import { TroupeError } from "../../errors.ts";
import type { IndexColumns } from "./columns.ts";
import { blockColumns, none, rowFiles, type Head } from "./format.ts";
import type { Excerpt } from "./fold.ts";
import type { SearchNews, SearchOrder } from "./search-worker.ts";

const program = new URL(`./search-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** Searches that are kept. */
const kept = 8;

/** The texts in which one search was successful. */
export class FoundTexts {
  /** By row of a text, 1: found. */
  #found = new Uint8Array();
  searched = 0;
  blocks = 0;

  /** Of the blocks, from 0 to 1. */
  get share(): number {
    return this.blocks === 0 ? 0 : this.searched / this.blocks;
  }

  /** Whether everything that an index has was searched. */
  covers({ files }: Head): boolean {
    const wanted = files.blocks.bytes / 8 / blockColumns.length;
    return this.searched === this.blocks && this.blocks >= wanted;
  }

  add(rows: Uint32Array, searched: number, blocks: number): void {
    const length = rows.reduce((most, row) => Math.max(most, row + 1), this.#found.length);
    if (length > this.#found.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.#found);
      this.#found = larger;
    }
    for (const row of rows) this.#found[row] = 1;
    [this.searched, this.blocks] = [searched, blocks];
  }

  /** Whether it is in a text of the action of a row. There are millions: this does without calls. */
  rowTest({ rows: { actions, prompts } }: IndexColumns): (row: number) => boolean {
    const found = this.#found;
    const [width, promptWidth] = [rowFiles.actions.length, rowFiles.prompts.length];
    // Those that answered one prompt are neighbours.
    let [last, isInLast] = [none, false];
    return (row) => {
      if (found[actions[row * width + 2] ?? 0] === 1) return true;
      const prompt = actions[row * width + 1] ?? none;
      if (prompt === last) return isInLast;
      [last, isInLast] = [prompt, false];
      for (let at = prompt; at !== none && !isInLast; at = prompts[at * promptWidth + 2] ?? none)
        isInLast = found[prompts[at * promptWidth + 3] ?? 0] === 1;
      return isInLast;
    };
  }

  /** The text of an action in which it was found: the reply's, or that of its prompt or one that this continues. */
  textWithIt(
    columns: IndexColumns,
    row: number,
  ): { readonly text: number; readonly isReply: boolean } | null {
    const reply = columns.at("actions", row, 2);
    if (this.#found[reply] === 1) return { text: reply, isReply: true };
    for (let at = columns.at("actions", row, 1); at !== none; at = columns.at("prompts", at, 2)) {
      const text = columns.at("prompts", at, 3);
      if (this.#found[text] === 1) return { text, isReply: false };
    }
    return null;
  }
}

/** One that is asked for again and again, until everything was searched. */
export interface RunningSearch {
  readonly found: FoundTexts;
  /** Of texts in which it was found. */
  readonly excerpts: (rows: readonly number[]) => Promise<readonly (Excerpt | null)[]>;
}

export class Searches {
  readonly #worker = new Worker(program);
  /** By text; the oldest first. */
  readonly #known = new Map<string, { readonly number: number; readonly found: FoundTexts }>();
  readonly #waiting = new Set<{ readonly look: () => void; readonly fail: (error: Error) => void }>();
  readonly #excerpts = new Map<number, PromiseWithResolvers<readonly (Excerpt | null)[]>>();
  #count = 0;
  /** Why nothing is found until the index is another one. */
  #problem: Error | null = null;

  constructor() {
    // Nothing of a viewer keeps the process but its server.
    this.#worker.unref();
    this.#worker.on("message", (news: SearchNews) => this.#take(news));
    this.#worker.on("error", (error) => this.#fail(error as Error));
  }

  /** What there is to search from now on. */
  extend(folder: string, head: Head): void {
    this.#problem = null;
    this.#tell({ kind: "texts", folder, head });
  }

  /** Waits until everything that an index has was searched, or so many milliseconds. @throws Error if that failed */
  async run(text: string, head: Head, milliseconds: number): Promise<RunningSearch> {
    if (this.#problem !== null) throw this.#problem;
    const { number, found } = this.#searchOf(text);
    if (!found.covers(head)) {
      this.#tell({ kind: "search", search: number, text });
      await this.#until(() => found.covers(head), milliseconds);
    }
    return { found, excerpts: (rows) => this.#excerptsOf(number, rows) };
  }

  /** The run is another one. */
  forget(): void {
    for (const { number } of this.#known.values()) this.#tell({ kind: "forget", search: number });
    this.#known.clear();
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
    this.#fail(new TroupeError("bad_run", "The viewer has ended."));
  }

  #searchOf(text: string): { readonly number: number; readonly found: FoundTexts } {
    const search = this.#known.get(text) ?? { number: this.#count++, found: new FoundTexts() };
    this.#known.delete(text);
    this.#known.set(text, search);
    const [oldest] = this.#known;
    if (this.#known.size > kept && oldest !== undefined) {
      this.#known.delete(oldest[0]);
      this.#tell({ kind: "forget", search: oldest[1].number });
    }
    return search;
  }

  #excerptsOf(search: number, rows: readonly number[]): Promise<readonly (Excerpt | null)[]> {
    const request = this.#count++;
    const answer = Promise.withResolvers<readonly (Excerpt | null)[]>();
    this.#excerpts.set(request, answer);
    this.#tell({ kind: "excerpts", request, search, rows });
    return answer.promise;
  }

  async #until(isDone: () => boolean, milliseconds: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { look: () => isDone() && resolve(), fail: reject };
    this.#waiting.add(waiting);
    const timer = setTimeout(resolve, milliseconds);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }

  #take(news: SearchNews): void {
    switch (news.kind) {
      case "found": {
        const search = [...this.#known.values()].find(({ number }) => number === news.search);
        search?.found.add(news.rows, news.searched, news.blocks);
        for (const { look } of this.#waiting) look();
        return;
      }
      case "excerpts":
        this.#excerpts.get(news.request)?.resolve(news.excerpts);
        this.#excerpts.delete(news.request);
        return;
      case "problem":
        this.#fail(new TroupeError("bad_run", news.error));
    }
  }

  /** Whoever waits or asks hears of it. */
  #fail(error: Error): void {
    this.#problem = error;
    for (const { fail } of this.#waiting) fail(error);
    for (const { reject } of this.#excerpts.values()) reject(error);
    this.#excerpts.clear();
    this.forget();
  }

  #tell(order: SearchOrder): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    this.#worker.postMessage(order);
  }
}
