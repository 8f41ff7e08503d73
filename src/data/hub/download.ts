/**
 * Downloads a file of the hub into the cache. If the transfer breaks off or is cancelled, or the disk is full, the next
 * try, of this process or another, requests the rest. A file gets its name once its size and checksum are right.
 */
import fs from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import { statOf } from "../../present.ts";
import { syncPath } from "../../runs/durable.ts";
import { addFile, blobFile, findBlob, hashOf } from "../cache/blobs.ts";
import { exclusively } from "../cache/exclusively.ts";
import { makeCacheDirectory, writingCache, type CacheLayout } from "../cache/place.ts";
import { checkCancelled } from "../cancel.ts";
import { hubUrl, showUrl, type HubAccess } from "./access.ts";
import type { ListedFile } from "./listing.ts";
import { get, RangeRefused, reasonOf, retryingHub, SilenceTimer } from "./request.ts";

export interface Download {
  readonly dataset: string;
  readonly commit: string;
  readonly file: ListedFile;
}

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
export async function downloadFile(download: Download, transfer: Transfer): Promise<string> {
  const { file } = download;
  const { algorithm, hex } = file.digest;
  const directory = path.join(transfer.cache.downloads, `${algorithm}-${hex}`);
  return exclusively(directory, {
    made: () => findBlob(transfer.cache, file),
    make: () => fetchInto(path.join(directory, "content"), download, transfer),
    waiting: () => transfer.waiting?.(file),
    signal: transfer.signal,
  });
}

async function fetchInto(partial: string, download: Download, transfer: Transfer): Promise<string> {
  const { file } = download;
  for (let attempt = 1; ; attempt++) {
    await transferWhole(partial, download, transfer);
    const found = await hashFile(partial, file);
    if (found === file.digest.hex) break;
    await fs.rm(partial, { force: true });
    if (attempt === wrongContents) throw wrongChecksum(download, transfer.access, found);
  }
  const blob = blobFile(transfer.cache, file.digest);
  await makeCacheDirectory(path.dirname(blob));
  await writingCache(blob, () => fs.rename(partial, blob));
  await syncPath(path.dirname(blob));
  return blob;
}

async function hashFile(partial: string, file: ListedFile): Promise<string> {
  const hash = hashOf(file);
  await addFile(hash, partial);
  return hash.digest("hex");
}

/** Tries until all bytes have arrived; continues as long as tries bring bytes. */
async function transferWhole(partial: string, download: Download, transfer: Transfer): Promise<void> {
  const { access, signal } = transfer;
  for (;;) {
    const before = await sizeOf(partial);
    try {
      return await retryingHub(access, () => transferRest(partial, download, transfer), signal);
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
async function transferRest(partial: string, download: Download, transfer: Transfer): Promise<void> {
  const { file, dataset, commit } = download;
  const present = await sizeOf(partial);
  if (present > file.size) await fs.rm(partial);
  if (present === file.size && present > 0) return;
  await checkRoom(partial, file.size - present);
  const url = hubUrl(transfer.access, "datasets", dataset, "resolve", commit, file.path);
  const handle = await writingCache(partial, () => fs.open(partial, "a"));
  try {
    const from = present > file.size ? 0 : present;
    const total = await receive(handle, url, from, download, transfer);
    await writingCache(partial, () => handle.sync());
    if (total < file.size)
      throw new ServiceError(`${showUrl(url)} ended after ${total} of ${file.size} bytes`);
  } catch (error) {
    if (!(error instanceof RangeRefused)) throw error;
    await handle.truncate(0);
    throw new ServiceError(`${showUrl(url)} cannot be resumed at byte ${present}`, { cause: error });
  } finally {
    await handle.close();
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
  { file }: Download,
  { access, signal, progress, cache }: Transfer,
): Promise<number> {
  using silence = new SilenceTimer(access.longestSilence, signal);
  const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
  const response = await get(access, url, range, silence.signal);
  let total = from > 0 && startsAt(response, from, file.size) ? from : 0;
  if (total < from) await handle.truncate(0);
  try {
    for await (const piece of response.body ?? []) {
      silence.heard();
      if (total + piece.length > file.size) throw tooMuch(url, file);
      await writingCache(cache.downloads, () => handle.appendFile(piece));
      total += piece.length;
      progress?.(file, total);
    }
  } catch (error) {
    checkCancelled(silence.signal);
    if (error instanceof TroupeError) throw error;
    throw new ServiceError(`${showUrl(url)} broke off after ${total} bytes: ${reasonOf(error)}`, {
      cause: error,
    });
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

function tooMuch(url: URL, { size }: ListedFile): TroupeError {
  return new TroupeError("bad_data", `${showUrl(url)} sends more than the ${size} bytes that the hub lists`);
}

function wrongChecksum({ dataset, commit, file }: Download, access: HubAccess, found: string): TroupeError {
  const place = showUrl(hubUrl(access, "datasets", dataset, "resolve", commit, file.path));
  const { algorithm, hex } = file.digest;
  const problem = `has the wrong checksum: ${algorithm} ${found}, expected ${hex}`;
  return new TroupeError(
    "bad_data",
    `${place} ${problem}; nothing was kept. Try again later, or another hub`,
  );
}
