/**
 * A data set of the hub, from the nearest place that has it: the user's files in the cache, an earlier listing, the
 * hub.
 * Without a network, the error says what to fetch and where to put it.
 */
import path from "node:path";
import { DataElsewhereError, ServiceError } from "../../errors.ts";
import { statOf } from "../../present.ts";
import type { CacheLayout } from "../cache/place.ts";
import { hubUrl } from "../hub/access.ts";
import type { Transfer } from "../hub/download.ts";
import type { ProblemSet } from "../sets/problem-set.ts";
import { folderSnapshot } from "./folder.ts";
import { cachedSnapshot, hubSnapshot } from "./hub.ts";
import type { Snapshot } from "./snapshot.ts";
import { configsOf } from "./splits.ts";
import { command } from "../../command-line.ts";

export interface HubDatasetToOpen {
  readonly dataset: string;
  /** A branch, a tag or a commit; null: the latest. */
  readonly revision: string | null;
  readonly set: ProblemSet | null;
  readonly config: string | null;
}

/** Where the hub keeps its conversions of sets that are scripts. */
const converted = "refs/convert/parquet";

/** @throws TroupeError `bad_data` if it is not available, `cancelled` */
export async function openHubDataset(
  open: HubDatasetToOpen,
  transfer: Transfer & { readonly refresh?: boolean },
): Promise<Snapshot> {
  const placed = placedFolder(transfer.cache, open);
  if (await exists(placed)) return folderSnapshot(placed, open.dataset);
  try {
    return await listed(open, transfer);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw unreachable(open, transfer, error.message);
  }
}

async function listed(
  open: HubDatasetToOpen,
  transfer: Transfer & { readonly refresh?: boolean },
): Promise<Snapshot> {
  const revision = open.revision ?? "main";
  const snapshot = await atRevision(open, revision, transfer);
  const hasFiles =
    configsOf(
      snapshot.files.map((file) => file.path),
      snapshot.configs,
    ).length > 0;
  if (hasFiles || open.revision !== null) return snapshot;
  return atRevision(open, converted, transfer);
}

async function atRevision(
  open: HubDatasetToOpen,
  revision: string,
  transfer: Transfer & { readonly refresh?: boolean },
): Promise<Snapshot> {
  if (transfer.refresh !== true) {
    const cached = await cachedSnapshot(open.dataset, revision, transfer);
    if (cached !== null) return guarded(open, cached, transfer);
  }
  if (transfer.access.isOffline) throw unreachable(open, transfer, "HF_HUB_OFFLINE is set");
  return guarded(open, await hubSnapshot(open.dataset, revision, transfer), transfer);
}

/** For a file that cannot be downloaded, the error names other sources. */
function guarded(open: HubDatasetToOpen, snapshot: Snapshot, transfer: Transfer): Snapshot {
  return {
    ...snapshot,
    locate: async (file) => {
      const present = await snapshot.present(file);
      if (present !== null) return present;
      const place = { path: file.path, commit: snapshot.commit };
      if (transfer.access.isOffline) throw unreachable(open, transfer, "HF_HUB_OFFLINE is set", place);
      try {
        return await snapshot.locate(file);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        throw unreachable(open, transfer, error.message, place);
      }
    },
  };
}

function placedFolder({ placed }: CacheLayout, { dataset, revision }: HubDatasetToOpen): string {
  const [owner = "", name = ""] = dataset.split("/");
  return path.join(placed, owner, revision === null ? name : `${name}@${encodeURIComponent(revision)}`);
}

async function exists(folder: string): Promise<boolean> {
  return (await statOf(folder, "bad_data"))?.isDirectory() === true;
}

function unreachable(
  open: HubDatasetToOpen,
  { access, cache }: Transfer,
  reason: string,
  file?: { readonly path: string; readonly commit: string | null },
): DataElsewhereError {
  const revision = file?.commit ?? open.revision ?? "main";
  const address = file
    ? hubUrl(access, "datasets", open.dataset, "resolve", revision, file.path)
    : hubUrl(access, "datasets", open.dataset, "tree", revision);
  const folder = placedFolder(cache, open);
  const what = file ? file.path : (namesOfFiles(open) ?? "its data files");
  const lines = [
    `${open.dataset} is not on this machine and cannot be downloaded: ${reason}`,
    `fetch  ${what}`,
    `from   ${address.href}`,
    `into   ${file ? path.join(folder, file.path) : folder}`,
    ...(file
      ? ["and the other files of the split, if it has any, beside it"]
      : ["with the paths that they have there"]),
    `or run \`${command("data", "download", open.set?.name ?? open.dataset)}\` where there is a network and copy its cache (TROUPE_CACHE) here`,
    ...(open.set
      ? [`or name other files of this form: \`dataset: { files: FILE, form: ${open.set.name} }\``]
      : []),
  ];
  return new DataElsewhereError(lines.join("\n  "));
}

function namesOfFiles({ set, config }: HubDatasetToOpen): string | null {
  const splits = Object.values(set?.configs[config ?? ""]?.splits ?? {});
  const names = splits.flatMap(({ files }) => files?.[0] ?? []);
  return names.length > 0 ? names.join(", ") : null;
}
