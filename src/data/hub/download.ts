/**
 * Downloads a file of the hub into the cache. If the transfer breaks off or is cancelled, or the disk is full, the next
 * try, of this process or another, requests the rest. A file gets its name once its size and checksum are right.
 */
import fs from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { bounded, TooLongError } from "../../calls/http.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import { statOf } from "../../present.ts";
import { syncPath } from "../../runs/durable.ts";
import {
  blobFile,
  checkCancelled,
  checksumOf,
  exclusively,
  findBlob,
  makeCacheDirectory,
  writingCache,
  type CacheLayout,
} from "../cache.ts";
import type { ListedFile } from "./listing.ts";
import {
  get,
  hubUrl,
  RangeRefused,
  reasonOf,
  retryingHub,
  showUrl,
  SilenceTimer,
  type HubAccess,
} from "./requests.ts";

export interface Transfer {
  readonly cache: CacheLayout;
  readonly access: HubAccess;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of the file on disk so far. */
  readonly progress?: ((file: ListedFile, bytes: number) => void) | undefined;
  /** Another process is downloading the file; this one waits. */
  readonly waiting?: ((file: ListedFile) => void) | undefined;
}

/** Whole transfers with wrong contents after which to give up. */
const wrongContents = 2;

/**
 * The file's path on disk.
 * @throws TroupeError `bad_data` if the contents are not those listed by the hub, `bad_run` if they cannot be written,
 * `cancelled`; ServiceError after the last try
 */
export async function downloadFile(
  { dataset, commit, file }: { dataset: string; commit: string; file: ListedFile },
  transfer: Transfer,
): Promise<string> {
  const { cache, access, signal } = transfer;
  const url = hubUrl(access, "datasets", dataset, "resolve", commit, file.path);
  const blob = blobFile(cache, file.digest);
  const directory = path.join(cache.downloads, path.basename(blob));
  return exclusively(directory, {
    made: () => findBlob(cache, file),
    make: async () => {
      const partial = path.join(directory, "content");
      await transferSound(partial, url, file, transfer);
      await makeCacheDirectory(path.dirname(blob));
      await writingCache(blob, () => fs.rename(partial, blob));
      await syncPath(path.dirname(blob));
      return blob;
    },
    waiting: () => transfer.waiting?.(file),
    signal,
  });
}

async function transferSound(partial: string, url: URL, file: ListedFile, transfer: Transfer): Promise<void> {
  const { algorithm, hex } = file.digest;
  for (let attempt = 1; ; attempt++) {
    await transferWhole(partial, url, file, transfer);
    const found = await checksumOf(partial, file);
    if (found === hex) return;
    await fs.rm(partial, { force: true });
    if (attempt < wrongContents) continue;
    const problem = `has the wrong checksum: ${algorithm} ${found}, expected ${hex}`;
    const fix = "nothing was kept. Try again later, or another hub";
    throw new TroupeError("bad_data", `${showUrl(url)} ${problem}; ${fix}`);
  }
}

/** Tries until all bytes have arrived; continues as long as tries bring bytes. */
async function transferWhole(partial: string, url: URL, file: ListedFile, transfer: Transfer): Promise<void> {
  for (;;) {
    const before = await sizeOf(partial);
    try {
      return await retryingHub(
        transfer.access,
        () => transferRest(partial, url, file, transfer),
        transfer.signal,
      );
    } catch (error) {
      const isProgress = (await sizeOf(partial)) > before;
      if (!(error instanceof ServiceError) || !isProgress) throw error;
    }
  }
}

async function sizeOf(file: string): Promise<number> {
  return (await statOf(file))?.size ?? 0;
}

/** Requests the missing bytes. @throws ServiceError if some are still missing */
async function transferRest(partial: string, url: URL, file: ListedFile, transfer: Transfer): Promise<void> {
  const present = await sizeOf(partial);
  if (present > file.size) await fs.rm(partial);
  if (present === file.size && present > 0) return;
  await checkRoom(partial, file.size - present);
  await using handle = await writingCache(partial, () => fs.open(partial, "a"));
  try {
    const from = present > file.size ? 0 : present;
    const total = await receive(handle, url, from, file, transfer);
    await writingCache(partial, () => handle.sync());
    if (total < file.size)
      throw new ServiceError(`${showUrl(url)} ended after ${total} of ${file.size} bytes`);
  } catch (error) {
    if (!(error instanceof RangeRefused)) throw error;
    await handle.truncate(0);
    throw new ServiceError(`${showUrl(url)} cannot be resumed at byte ${present}`, { cause: error });
  }
}

async function checkRoom(partial: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await fs.statfs(path.dirname(partial));
  if (bavail * bsize >= bytes) return;
  const problem = `${showCount(bytes)} bytes are needed and ${showCount(bavail * bsize)} are free`;
  const fix = `Free some space, or set TROUPE_CACHE to a folder on another disk, then repeat the command; the download resumes where it stopped`;
  throw new TroupeError("bad_run", `Cannot write ${partial}: ${problem}. ${fix}.`);
}

/** Appends the bytes from `from` on, or all if the server does not resume. Returns the new total. */
async function receive(
  handle: FileHandle,
  url: URL,
  from: number,
  file: ListedFile,
  { access, signal, progress, cache }: Transfer,
): Promise<number> {
  using silence = new SilenceTimer(access, signal);
  const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
  const response = await get(access, url, range, silence.signal);
  const start = from > 0 && startsAt(response, from, file.size) ? from : 0;
  if (start < from) await handle.truncate(0);
  let total = start;
  const arrived = (bytes: number): void => {
    silence.heard();
    total = start + bytes;
  };
  try {
    for await (const piece of bounded(response.body ?? [], file.size - start, arrived)) {
      await writingCache(cache.downloads, () => handle.appendFile(piece));
      progress?.(file, total);
    }
  } catch (cause) {
    checkCancelled(silence.signal);
    if (cause instanceof TroupeError) throw cause;
    if (cause instanceof TooLongError) {
      const problem = `sends more than the ${file.size} bytes that the hub lists`;
      throw new TroupeError("bad_data", `${showUrl(url)} ${problem}`);
    }
    const problem = `broke off after ${total} bytes: ${reasonOf(cause)}`;
    throw new ServiceError(`${showUrl(url)} ${problem}`, { cause });
  }
  return total;
}

/** Whether the answer continues at the right position; the whole file is accepted, too. */
function startsAt(response: Response, from: number, size: number): boolean {
  if (response.status !== 206) return false;
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get("content-range") ?? "");
  if (Number(range?.[1]) === from && (range?.[2] === "*" || Number(range?.[2]) === size)) return true;
  throw new RangeRefused();
}
