/** A data set of the hub. The commit of a revision is stored in the cache until a command asks the hub again. */
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";
import { ifPresent } from "../../present.ts";
import { writeFileDurably } from "../../runs/durable.ts";
import { findBlob } from "../cache/blobs.ts";
import { makeCacheDirectory, type CacheLayout } from "../cache/place.ts";
import type { HubAccess } from "../hub/access.ts";
import { downloadFile, type Transfer } from "../hub/download.ts";
import { listFiles, listingSchema, type ListedFile, type Listing } from "../hub/listing.ts";
import type { Snapshot, SnapshotFile } from "./snapshot.ts";

const pointer = z.object({ commit: z.string().regex(/^[0-9a-f]{40}$/) });

/**
 * The cached snapshot of a revision; null: none.
 * @param revision a branch, a tag or a commit
 */
export async function cachedSnapshot(
  dataset: string,
  revision: string,
  transfer: Transfer,
): Promise<Snapshot | null> {
  const folder = hubFolder(transfer.cache, transfer.access, dataset);
  const known = await readJson(revisionFile(folder, revision), pointer);
  const commit = known?.commit ?? (/^[0-9a-f]{40}$/.test(revision) ? revision : null);
  if (commit === null) return null;
  const listing = await readJson(listingFile(folder, commit), listingSchema);
  return listing === null ? null : snapshotOf(listing, transfer);
}

/** The hub's current one. @throws TroupeError if it cannot be requested */
export async function hubSnapshot(dataset: string, revision: string, transfer: Transfer): Promise<Snapshot> {
  const { cache, access, signal } = transfer;
  const listing = await listFiles(access, dataset, revision, signal);
  const folder = hubFolder(cache, access, dataset);
  const files = { [listingFile(folder, listing.commit)]: listing };
  if (revision !== listing.commit)
    files[revisionFile(folder, revision)] = { ...listing, files: [], configs: null };
  for (const [file, value] of Object.entries(files)) {
    await makeCacheDirectory(path.dirname(file));
    await writeFileDurably(file, `${JSON.stringify(value)}\n`);
  }
  return snapshotOf(listing, transfer);
}

function snapshotOf(listing: Listing, transfer: Transfer): Snapshot {
  const { dataset, commit, files, configs } = listing;
  const listed = new Map(files.map((file) => [file.path, file]));
  const find = ({ path: name }: SnapshotFile): ListedFile => {
    const file = listed.get(name);
    if (file === undefined) throw new TroupeError("internal", `${dataset} has no file ${name}`);
    return file;
  };
  return {
    dataset,
    commit,
    configs,
    files: files.map((file) => ({ path: file.path, size: file.size, identity: identityOf(file) })),
    locate: (file) => downloadFile({ dataset, commit, file: find(file) }, transfer),
    present: (file) => findBlob(transfer.cache, find(file)),
  };
}

function identityOf({ digest }: ListedFile): string {
  return `${digest.algorithm}:${digest.hex}`;
}

/** Each hub has its own entries. */
function hubFolder(cache: CacheLayout, { endpoint }: HubAccess, dataset: string): string {
  return path.join(cache.hub, endpoint.host.replaceAll(":", "_"), ...dataset.split("/"));
}

function listingFile(folder: string, commit: string): string {
  return path.join(folder, "commits", `${commit}.json`);
}

function revisionFile(folder: string, revision: string): string {
  return path.join(folder, "revisions", `${encodeURIComponent(revision)}.json`);
}

/** Null: missing or damaged; both are repaired by asking the hub. */
async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await ifPresent(file, () => fs.readFile(file, "utf8"), "bad_data");
  return schema.safeParse(jsonOrNull(text ?? "")).data ?? null;
}
