/**
 * The cache of downloads. Everything below `data` may be deleted while no command runs: it is then downloaded again.
 *
 *     data/hub/HOST/OWNER/NAME/        which files a revision has
 *     data/blobs/                      contents, by checksum: equal files of two revisions are stored once
 *     data/downloads/                  partial contents, to be resumed
 *     data/problems/                   rows in their common form
 *     data/solutions/                  which problems fail their own tests, by digest of a split's problems
 *     data/placed/OWNER/NAME/          files put there by a person, for machines without a network
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { cacheRoot } from "../cache-root.ts";
import { TroupeError } from "../errors.ts";
import { statOf } from "../present.ts";
import { makeDirectory, writing } from "../runs/durable.ts";
import { acquireLock, isLocked, type Lock } from "../runs/lock.ts";

const parts = ["hub", "blobs", "downloads", "problems", "solutions", "placed"] as const;

export type CacheLayout = Readonly<Record<"root" | (typeof parts)[number], string>>;

export function cacheLayout(root: string = cacheRoot()): CacheLayout {
  const folders = parts.map((name) => [name, path.join(root, "data", name)]);
  return { root, ...Object.fromEntries(folders) } as CacheLayout;
}

const resumes = "what was downloaded is kept, and the download resumes where it stopped";

/** Writes to the cache. If it fails, the error says that repeating the command resumes. */
export function writingCache<T>(target: string, write: () => Promise<T>): Promise<T> {
  return writing(target, write, resumes);
}

export function makeCacheDirectory(directory: string): Promise<void> {
  return makeDirectory(directory, resumes);
}

export interface Digest {
  /** `git`: git's SHA-1, for files too small for large-file storage. */
  readonly algorithm: "sha256" | "git";
  readonly hex: string;
}

/** Contents that are identified by their checksum. */
export interface Contents {
  readonly size: number;
  readonly digest: Digest;
}

export function blobFile({ blobs }: CacheLayout, { algorithm, hex }: Digest): string {
  return path.join(blobs, `${algorithm}-${hex}`);
}

/** Path of the contents; null: missing, or of the wrong size. */
export async function findBlob(cache: CacheLayout, { digest, size }: Contents): Promise<string | null> {
  const file = blobFile(cache, digest);
  const found = await statOf(file, "bad_data");
  return found?.isFile() === true && found.size === size ? file : null;
}

/** The checksum of the file, of the same kind as the given one. */
export async function checksumOf(file: string, { digest, size }: Contents): Promise<string> {
  // Git hashes a header before the contents.
  const hash =
    digest.algorithm === "sha256" ? createHash("sha256") : createHash("sha1").update(`blob ${size}\0`);
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** @throws TroupeError `cancelled` if the signal is aborted */
export function checkCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const { reason } = signal;
  throw reason instanceof TroupeError ? reason : new TroupeError("cancelled", "Cancelled.");
}

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

/**
 * The result of `made`, or of `make` in the folder, which is removed if it stays empty. One process at a time works in a
 * folder of the cache; others wait for its result.
 */
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
    // An aborted wait ends at once, and the next try at the signal.
    await delay(wait * (0.5 + Math.random()), undefined, signal && { signal }).catch(() => {});
    wait = Math.min(longestWait, wait * 1.5);
    const ready = await made();
    if (ready !== null) return { made: ready };
  }
}
