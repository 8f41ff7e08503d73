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
import type { Head } from "./format.ts";
import { IndexWriter } from "./writer.ts";

export interface IndexOrder {
  readonly run: string;
  readonly masksTruncated: boolean;
}

export interface IndexNews {
  readonly folder: string;
  readonly head: Head;
  /** Why it does not go on, until the run's files change. */
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
      return { folder, lock: await acquireLock(folder, { name: "index" }), isTemporary: false };
    } catch {
      // The next place is as good: an index can be built again.
    }
  }
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-view-"));
  return { folder, lock: await acquireLock(folder, { name: "index" }), isTemporary: true };
}

async function keep({ run, masksTruncated }: IndexOrder): Promise<void> {
  const port = parentPort;
  if (port === null) throw new TroupeError("internal", "the index is kept in a thread of its own");
  const asked = new AbortController();
  port.on("message", () => asked.abort());
  const held = await holdFolder(run);
  try {
    const entries = new Entries(run);
    await entries.refresh();
    let { generation } = entries;
    const writer = await IndexWriter.open(run, held.folder, entries, masksTruncated);
    const tell = (problem?: string): void => {
      const news: IndexNews = { folder: held.folder, head: writer.head };
      port.postMessage(problem === undefined ? news : { ...news, problem });
    };
    tell();
    let [problem, count] = [null as string | null, -1];
    while (!asked.signal.aborted) {
      try {
        await entries.refresh();
        if (entries.generation !== generation) await writer.clear();
        const isOther = entries.generation !== generation || entries.count !== count;
        ({ generation } = entries);
        count = entries.count;
        if (isOther) await writer.extend(entries, tell, () => asked.signal.aborted);
        problem = null;
      } catch (error) {
        const now = (error as Error).message;
        if (now !== problem) tell(now);
        problem = now;
      }
      await delay(every, undefined, { signal: asked.signal }).catch(() => {});
    }
  } finally {
    await held.lock.release();
    if (held.isTemporary) await fs.rm(held.folder, { recursive: true, force: true });
    port.close();
  }
}

await keep(workerData as IndexOrder);
