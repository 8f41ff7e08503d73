/** Lets one process at a time work in a folder of the cache; others wait for its result. */
import fs from "node:fs/promises";
import { acquireLock, isLocked, type Lock } from "../../runs/lock.ts";
import { cancellableSleep, checkCancelled } from "../cancel.ts";
import { makeCacheDirectory } from "./place.ts";

const firstWait = 50;
const longestWait = 1000;
/** Tries without a live holder: two simultaneous attempts may both be rejected. */
const emptyTries = 10;

export interface Exclusive<T> {
  /** The result of another process; null: none yet. */
  readonly made: () => Promise<T | null>;
  /** Called with exclusive use of the folder. */
  readonly make: () => Promise<T>;
  /** Called once if another process is working. */
  readonly waiting?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** The result of `made`, or of `make` in the folder, which is removed if it stays empty. */
export async function exclusively<T>(directory: string, work: Exclusive<T>): Promise<T> {
  const before = await work.made();
  if (before !== null) return before;
  const lock = await waitForLock(directory, work);
  if ("made" in lock) return lock.made;
  try {
    return (await work.made()) ?? (await work.make());
  } finally {
    await lock.release();
    // Fails, as intended, if a partial download is kept or another process waits.
    await fs.rmdir(directory).catch(() => {});
  }
}

async function waitForLock<T>(
  directory: string,
  { made, waiting, signal }: Exclusive<T>,
): Promise<Lock | { made: T }> {
  let wait = firstWait;
  for (let empty = 0, waits = 0; ; waits++) {
    checkCancelled(signal);
    try {
      await makeCacheDirectory(directory);
      return await acquireLock(directory);
    } catch (error) {
      if (!(await isLocked(directory)) && ++empty >= emptyTries) throw error;
    }
    if (waits === 1) waiting?.();
    await cancellableSleep(wait * (0.5 + Math.random()), signal);
    wait = Math.min(longestWait, wait * 1.5);
    const ready = await made();
    if (ready !== null) return { made: ready };
  }
}
