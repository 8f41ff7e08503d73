/** The problems of a split, made from its rows once and then read from the cache. */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { showText } from "../../format.ts";
import { syncPath } from "../../runs/durable.ts";
import { exclusively } from "../cache/exclusively.ts";
import { makeCacheDirectory, writingCache, type CacheLayout } from "../cache/place.ts";
import { checkCancelled } from "../cancel.ts";
import { readRows } from "../formats/read-rows.ts";
import type { ReadRow } from "../formats/row.ts";
import { checkedProblem } from "../problem-kinds.ts";
import { MalformedRow } from "../sets/problem-set.ts";
import type { RowForm } from "../sets/row-form.ts";
import type { Snapshot, SnapshotFile } from "../snapshots/snapshot.ts";
import { openStore, storeVersion, writeStore, type MappedRow, type ProblemStore } from "./store.ts";

export interface SplitToPrepare {
  readonly snapshot: Snapshot;
  readonly split: string;
  readonly files: readonly SnapshotFile[];
  readonly form: RowForm;
}

export interface Preparing {
  readonly cache: CacheLayout;
  readonly signal?: AbortSignal | undefined;
  /** Rows read so far. */
  readonly prepared?: ((split: string, rows: number) => void) | undefined;
}

/** Downloads the files if necessary. @throws TroupeError `bad_data`, `bad_run`, `cancelled` */
export async function prepareSplit(split: SplitToPrepare, preparing: Preparing): Promise<ProblemStore> {
  const { cache, signal } = preparing;
  const key = keyOf(split);
  const folder = path.join(cache.problems, key);
  const work = path.join(cache.downloads, `problems-${key}`);
  return exclusively(work, {
    made: () => openStore(folder),
    make: async () => {
      const unfinished = path.join(work, "unfinished");
      await writingCache(folder, () => fillStore(unfinished, split, preparing));
      await writingCache(folder, () => moveInto(unfinished, folder));
      const store = await openStore(folder);
      if (store === null) throw new Error(`${folder} vanished while it was made`);
      return store;
    },
    signal,
  });
}

/** Changes with the contents, the mapping of rows, and the stored format. */
function keyOf({ split, files, form }: SplitToPrepare): string {
  const what = {
    storeVersion,
    form: form.identity,
    split,
    files: files.map(({ identity, path: name }) => [identity, name]),
  };
  return createHash("sha256").update(JSON.stringify(what)).digest("hex").slice(0, 40);
}

async function fillStore(folder: string, split: SplitToPrepare, preparing: Preparing): Promise<void> {
  await fs.rm(folder, { recursive: true, force: true });
  await makeCacheDirectory(folder);
  await writeStore(folder, mappedRows(split, preparing));
  for (const name of await fs.readdir(folder)) await syncPath(path.join(folder, name));
}

/** Replaces a damaged store of the same name. */
async function moveInto(unfinished: string, folder: string): Promise<void> {
  await makeCacheDirectory(path.dirname(folder));
  await fs.rm(folder, { recursive: true, force: true });
  await fs.rename(unfinished, folder);
  await syncPath(path.dirname(folder));
}

async function* mappedRows(
  { snapshot, split, files, form }: SplitToPrepare,
  { signal, prepared }: Preparing,
): AsyncGenerator<MappedRow> {
  let row = 0;
  const seen = new Set<string>();
  for (const file of files) {
    const location = await snapshot.locate(file);
    for await (const read of readRows({ location, name: file.path }, form.columns)) {
      checkCancelled(signal);
      const mapped = mapRow(read, form, split, row);
      if (form.dropsRepeats === true && isRepeated(mapped, seen)) continue;
      yield mapped;
      row++;
      prepared?.(split, row);
    }
  }
}

function isRepeated(mapped: MappedRow, seen: Set<string>): boolean {
  if ("reason" in mapped) return false;
  const { size } = seen;
  return seen.add(mapped.problem.id).size === size;
}

function mapRow(read: ReadRow, form: RowForm, split: string, row: number): MappedRow {
  if ("malformed" in read) return { reason: read.malformed };
  try {
    return { problem: checkedProblem(form.problem(read.value, { split, row })) };
  } catch (error) {
    if (error instanceof MalformedRow) return { reason: showText(error.message, 300) };
    if (error instanceof z.ZodError) return { reason: describe(error) };
    throw error;
  }
}

function describe({ issues: [issue] }: z.ZodError): string {
  return showText(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`, 300);
}
