/**
 * A data set of the hub, from the nearest place that has it: the user's files in the cache, an earlier listing there, the
 * hub. The commit of a revision is stored in the cache until a command asks the hub again. Without a network, the error
 * says what to fetch and where to put it.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { command } from "../../command-line.ts";
import { DataElsewhereError, ServiceError, TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";
import { ifPresent, statOf } from "../../present.ts";
import { writeFileDurably } from "../../runs/durable.ts";
import { findBlob, makeCacheDirectory } from "../cache.ts";
import type { ProblemSet } from "../sets/problem-set.ts";
import { folderSnapshot, type Snapshot, type SnapshotFile } from "../snapshot.ts";
import { configsOf } from "../splits.ts";
import { downloadFile, type Transfer } from "./download.ts";
import { listFiles, listingSchema, type ListedFile, type Listing } from "./listing.ts";
import { hubUrl } from "./requests.ts";

export interface HubDatasetToOpen {
  readonly dataset: string;
  /** A branch, a tag or a commit; null: the latest. */
  readonly revision: string | null;
  readonly set: ProblemSet | null;
  readonly config: string | null;
}

export interface HubOpening extends Transfer {
  /** Ask the hub for the current commit, even if the cache has one. */
  readonly refresh?: boolean;
}

/** Where the hub keeps its conversions of sets that are scripts. */
const converted = "refs/convert/parquet";

/** @throws TroupeError `bad_data` if it is not available, `cancelled` */
export async function openHubDataset(open: HubDatasetToOpen, opening: HubOpening): Promise<Snapshot> {
  const placed = placedFolder(open, opening);
  if ((await statOf(placed, "bad_data"))?.isDirectory() === true) return folderSnapshot(placed, open.dataset);
  const latest = await atRevision(open, open.revision ?? "main", opening);
  const paths = latest.files.map((file) => file.path);
  if (open.revision !== null || configsOf(paths, latest.configs).length > 0) return latest;
  return atRevision(open, converted, opening);
}

async function atRevision(open: HubDatasetToOpen, revision: string, opening: HubOpening): Promise<Snapshot> {
  const known = opening.refresh === true ? null : await cachedListing(open.dataset, revision, opening);
  const listing =
    known ?? (await orElsewhere(open, opening, null, () => currentListing(open.dataset, revision, opening)));
  const { dataset, commit, configs } = listing;
  const listed = new Map(listing.files.map((file) => [file.path, file]));
  const find = ({ path: name }: SnapshotFile): ListedFile => {
    const file = listed.get(name);
    if (file === undefined) throw new TroupeError("internal", `${dataset} has no file ${name}`);
    return file;
  };
  const present = (file: SnapshotFile) => findBlob(opening.cache, find(file));
  return {
    dataset,
    commit,
    configs,
    files: listing.files.map((file) => ({
      ...file,
      identity: `${file.digest.algorithm}:${file.digest.hex}`,
    })),
    present,
    locate: async (file) => {
      const download = () => downloadFile({ dataset, commit, file: find(file) }, opening);
      return (await present(file)) ?? orElsewhere(open, opening, { path: file.path, commit }, download);
    },
  };
}

// --- What the cache knows of the hub ---

const pointer = z.object({ commit: z.string().regex(/^[0-9a-f]{40}$/) });

/** Null: the cache has none. */
async function cachedListing(dataset: string, revision: string, transfer: Transfer): Promise<Listing | null> {
  const places = placesOf(dataset, transfer);
  const known = await readJson(places.revision(revision), pointer);
  const commit = known?.commit ?? (/^[0-9a-f]{40}$/.test(revision) ? revision : null);
  return commit === null ? null : readJson(places.commit(commit), listingSchema);
}

/** The hub's, which is stored. @throws TroupeError if it cannot be requested */
async function currentListing(dataset: string, revision: string, transfer: Transfer): Promise<Listing> {
  const listing = await listFiles(transfer.access, dataset, revision, transfer.signal);
  const { commit } = listing;
  const places = placesOf(dataset, transfer);
  await writeJson(places.commit(commit), listing);
  if (revision !== commit) await writeJson(places.revision(revision), { commit });
  return listing;
}

/** Each hub has its own entries. */
function placesOf(dataset: string, { cache, access }: Transfer) {
  const folder = path.join(cache.hub, access.endpoint.host.replaceAll(":", "_"), ...dataset.split("/"));
  return {
    commit: (name: string) => path.join(folder, "commits", `${name}.json`),
    revision: (name: string) => path.join(folder, "revisions", `${encodeURIComponent(name)}.json`),
  };
}

/** Null: missing or damaged; both are repaired by asking the hub. */
async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await ifPresent(file, () => fs.readFile(file, "utf8"), "bad_data");
  return schema.safeParse(jsonOrNull(text ?? "")).data ?? null;
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await makeCacheDirectory(path.dirname(file));
  await writeFileDurably(file, `${JSON.stringify(value)}\n`);
}

// --- Without a network ---

function placedFolder({ dataset, revision }: HubDatasetToOpen, { cache }: Transfer): string {
  const [owner = "", name = ""] = dataset.split("/");
  return path.join(cache.placed, owner, revision === null ? name : `${name}@${encodeURIComponent(revision)}`);
}

type WantedFile = { readonly path: string; readonly commit: string } | null;

/** What the hub gives. If it cannot be reached, the error names other sources of the file, or of the data set. */
async function orElsewhere<T>(
  open: HubDatasetToOpen,
  transfer: Transfer,
  file: WantedFile,
  work: () => Promise<T>,
): Promise<T> {
  if (transfer.access.isOffline) throw unreachable(open, transfer, "HF_HUB_OFFLINE is set", file);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw unreachable(open, transfer, error.message, file);
  }
}

function unreachable(
  open: HubDatasetToOpen,
  transfer: Transfer,
  reason: string,
  file: WantedFile,
): DataElsewhereError {
  const { dataset, set, config } = open;
  const splits = Object.values(set?.configs[config ?? ""]?.splits ?? {});
  const names = splits.flatMap(({ files }) => files?.[0] ?? []).join(", ");
  const revision = file?.commit ?? open.revision ?? "main";
  const address = ["datasets", dataset, ...(file ? ["resolve", revision, file.path] : ["tree", revision])];
  const folder = placedFolder(open, transfer);
  const lines = [
    `${dataset} is not on this machine and cannot be downloaded: ${reason}`,
    `fetch  ${file?.path ?? (names || "its data files")}`,
    `from   ${hubUrl(transfer.access, ...address).href}`,
    `into   ${file ? path.join(folder, file.path) : folder}`,
    file
      ? "and the other files of the split, if it has any, beside it"
      : "with the paths that they have there",
    `or run \`${command("data", "download", set?.name ?? dataset)}\` where there is a network and copy its cache (TROUPE_CACHE) here`,
    ...(set ? [`or name other files of this form: \`dataset: { files: FILE, form: ${set.name} }\``] : []),
  ];
  return new DataElsewhereError(lines.join("\n  "));
}
