/** Keeps the index of a run up to date in a thread of its own, until it is ended. */
import { realpathSync } from "node:fs";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { createHash } from "node:crypto";
import { cacheRoot } from "../../cache-root.ts";
import { TroupeError } from "../../errors.ts";
import { layoutOf } from "../../runs/layout.ts";
import { acquireLock, type Lock } from "../../runs/lock.ts";
import { Entries } from "../entries.ts";
import { isForeign } from "./files.ts";
import type { Head } from "./format.ts";
import { IndexWriter } from "./writer.ts";

export interface IndexOrder {
  readonly run: string;
}

export interface IndexNews {
  readonly folder: string;
  /** Null: nothing could be indexed. */
  readonly head: Head | null;
  /** Why it does not go on; it is tried again and again. */
  readonly problem?: string;
}

/** Milliseconds between looks at the run. */
const every = 1000;

interface Held {
  readonly folder: string;
  readonly lock: Lock;
  readonly isTemporary: boolean;
}

/** In the run's folder; if that cannot be written or another viewer writes there, elsewhere. */
async function holdFolder(run: string): Promise<Held> {
  const name = createHash("sha256").update(realpathSync(run)).digest("hex").slice(0, 32);
  for (const folder of [layoutOf(run).view, path.join(cacheRoot(), "view", name)]) {
    try {
      await fs.mkdir(folder, { recursive: true });
      if (await isForeign(folder)) continue;
      return { folder, lock: await acquireLock(folder, { name: "index" }), isTemporary: false };
    } catch {
      // The next place is as good: an index can be built again.
    }
  }
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-view-"));
  return { folder, lock: await acquireLock(folder, { name: "index" }), isTemporary: true };
}

async function release({ lock, folder, isTemporary }: Held): Promise<void> {
  await lock.release();
  if (isTemporary) await fs.rm(folder, { recursive: true, force: true });
}

/** The index of the run as it is; another one as soon as episodes that were there are gone. */
class Indexing {
  readonly #order: IndexOrder;
  readonly #tell: (news: IndexNews) => void;
  readonly #entries: Entries;
  #generation = -1;
  #held: Held | null = null;
  #writer: IndexWriter | null = null;
  #problem: string | null = null;

  constructor(order: IndexOrder, tell: (news: IndexNews) => void) {
    this.#order = order;
    this.#tell = tell;
    this.#entries = new Entries(order.run);
  }

  /** Indexes what is new. @throws Error if the run is damaged, or the index cannot be written */
  async look(isEnded: () => boolean): Promise<void> {
    const { run } = this.#order;
    await this.#entries.refresh();
    if (this.#entries.generation !== this.#generation) await this.end();
    this.#generation = this.#entries.generation;
    // It may have been removed. Whoever wrote the run may put links there, through which files of the viewer's user would
    // be read or overwritten.
    if (this.#held !== null && (await isForeign(this.#held.folder))) await this.end();
    this.#held ??= await holdFolder(run);
    if (this.#writer === null) {
      this.#writer = await IndexWriter.open(run, this.#held.folder, this.#entries);
      this.tell();
    }
    await this.#writer.extend(this.#entries, () => this.tell(), isEnded);
  }

  /** The problem that was told last. Null: none. */
  get problem(): string | null {
    return this.#problem;
  }

  tell(problem: string | null = null): void {
    this.#problem = problem;
    const news = { folder: this.#held?.folder ?? "", head: this.#writer?.head ?? null };
    this.#tell(problem === null ? news : { ...news, problem });
  }

  /** The folder may be gone with a run that was removed, and its lock, too. */
  async end(): Promise<void> {
    const held = this.#held;
    [this.#held, this.#writer] = [null, null];
    if (held !== null) await release(held);
  }
}

async function keep(order: IndexOrder): Promise<void> {
  const port = parentPort;
  if (port === null) throw new TroupeError("internal", "the index is kept in a thread of its own");
  const asked = new AbortController();
  port.on("message", () => asked.abort());
  const indexing = new Indexing(order, (news) => port.postMessage(news));
  while (!asked.signal.aborted) {
    let problem: string | null = null;
    try {
      await indexing.look(() => asked.signal.aborted);
    } catch (error) {
      problem = (error as Error).message;
    }
    if (problem !== indexing.problem) indexing.tell(problem);
    await delay(every, undefined, { signal: asked.signal }).catch(() => {});
  }
  await indexing.end();
  port.close();
}

await keep(workerData as IndexOrder);
