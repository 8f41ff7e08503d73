/**
 * The problems of a split, made from its rows once and then read from the cache, each compressed separately: a set of
 * several gigabytes opens at once and takes no memory. A folder has `problems.zst`, concatenated frames of JSON,
 * `shingles.bin`, for comparing prompts, and `index.json`, with the position of each.
 */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { z } from "zod";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import { jsonOrNull } from "../json.ts";
import { ifPresent, statOf } from "../present.ts";
import { syncPath, writeFileDurably } from "../runs/durable.ts";
import { checkCancelled, exclusively, makeCacheDirectory, writingCache, type CacheLayout } from "./cache.ts";
import { readRows } from "./formats/read-rows.ts";
import type { ReadRow } from "./formats/row.ts";
import { shinglesOf } from "./overlaps.ts";
import { checkedProblem, type AnyProblem } from "./problem.ts";
import { RowError } from "./sets/problem-set.ts";
import type { RowForm } from "./sets/row-form.ts";
import type { Snapshot, SnapshotFile } from "./snapshot.ts";

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

export interface StoredProblem {
  /** From 0, of the split. */
  readonly row: number;
  readonly id: string;
  /** Of its contents: prompt, tests, solutions, limits. */
  readonly digest: string;
}

export interface MalformedRow {
  /** From 0, of the split. */
  readonly row: number;
  readonly reason: string;
}

export interface ProblemStore {
  /** Of all problems' ids and contents, in order. */
  readonly digest: string;
  /** Rows of the split, including malformed ones. */
  readonly rows: number;
  /** In the order of their rows. */
  readonly problems: readonly StoredProblem[];
  readonly malformed: readonly MalformedRow[];
  /** @throws TroupeError `bad_data` if the cache is damaged */
  read(problem: StoredProblem): Promise<AnyProblem>;
  /** For comparing prompts (overlaps.ts), by row. @throws TroupeError `bad_data` */
  shingles(): Promise<ReadonlyMap<number, Uint32Array>>;
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
      await writingCache(folder, () => makeStore(folder, path.join(work, "unfinished"), split, preparing));
      const store = await openStore(folder);
      if (store === null) throw new Error(`${folder} vanished while it was made`);
      return store;
    },
    signal,
  });
}

/** Increase it with every change of the format. */
const storeVersion = 2;

/** Changes with the contents, the mapping of rows, and the stored format. */
function keyOf({ split, files, form }: SplitToPrepare): string {
  const identities = files.map(({ identity, path: name }) => [identity, name]);
  const what = { storeVersion, form: form.identity, split, files: identities };
  return createHash("sha256").update(JSON.stringify(what)).digest("hex").slice(0, 40);
}

// --- From rows to problems ---

type MappedRow = { readonly problem: AnyProblem } | { readonly reason: string };

/** A row that repeats an earlier id is malformed, or left out if the set says so. */
async function* mappedRows(
  { snapshot, split, files, form }: SplitToPrepare,
  { signal, prepared }: Preparing,
): AsyncGenerator<MappedRow> {
  let row = 0;
  const rowOfId = new Map<string, number>();
  for (const file of files) {
    const location = await snapshot.locate(file);
    for await (const read of readRows({ location, name: file.path }, form.columns)) {
      checkCancelled(signal);
      const mapped = mapRow(read, form, split, row);
      const id = "problem" in mapped ? mapped.problem.id : null;
      const first = id === null ? undefined : rowOfId.get(id);
      if (first !== undefined && form.dropsRepeats === true) continue;
      if (id !== null && first === undefined) rowOfId.set(id, row);
      yield first === undefined ? mapped : { reason: `the id ${id} is that of row ${first}, too` };
      row++;
      prepared?.(split, row);
    }
  }
}

function mapRow(read: ReadRow, form: RowForm, split: string, row: number): MappedRow {
  if ("malformed" in read) return { reason: read.malformed };
  try {
    return { problem: checkedProblem(form.problem(read.value, { split, row })) };
  } catch (error) {
    if (error instanceof RowError) return { reason: showText(error.message, 300) };
    if (!(error instanceof z.ZodError)) throw error;
    const [issue] = error.issues;
    return { reason: showText(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`, 300) };
  }
}

// --- On disk ---

const pack = promisify(zstdCompress);
const unpack = promisify(zstdDecompress);
/** Frames carry a checksum: disk damage is an error, not another problem. */
const packing = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

const placeSchema = z.strictObject({
  row: z.int(),
  id: z.string(),
  digest: z.string(),
  offset: z.int(),
  length: z.int(),
  shingles: z.int(),
});
const indexSchema = z.strictObject({
  version: z.literal(storeVersion),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  problems: z.array(placeSchema),
  malformed: z.array(z.strictObject({ row: z.int(), reason: z.string() })),
});
type Index = z.infer<typeof indexSchema>;

const placesIn = (folder: string) => ({
  problems: path.join(folder, "problems.zst"),
  shingles: path.join(folder, "shingles.bin"),
  index: path.join(folder, "index.json"),
});

/** Replaces a damaged store of the same name. */
async function makeStore(
  folder: string,
  unfinished: string,
  split: SplitToPrepare,
  preparing: Preparing,
): Promise<void> {
  await fs.rm(unfinished, { recursive: true, force: true });
  await makeCacheDirectory(unfinished);
  await fillStore(unfinished, mappedRows(split, preparing));
  for (const name of await fs.readdir(unfinished)) await syncPath(path.join(unfinished, name));
  await makeCacheDirectory(path.dirname(folder));
  await fs.rm(folder, { recursive: true, force: true });
  await fs.rename(unfinished, folder);
  await syncPath(path.dirname(folder));
}

async function fillStore(folder: string, rows: AsyncIterable<MappedRow>): Promise<void> {
  const index: Index = { version: storeVersion, rows: 0, bytes: 0, problems: [], malformed: [] };
  const places = placesIn(folder);
  await using frames = await fs.open(places.problems, "w");
  await using shingles = await fs.open(places.shingles, "w");
  for await (const mapped of rows) {
    const row = index.rows++;
    if ("reason" in mapped) {
      index.malformed.push({ row, reason: mapped.reason });
      continue;
    }
    const { problem } = mapped;
    const text = JSON.stringify(problem);
    const frame = await pack(text, packing);
    await frames.appendFile(frame);
    const runs = shinglesOf(problem.prompt);
    await shingles.appendFile(new Uint8Array(runs.buffer));
    const place = { offset: index.bytes, length: frame.length, shingles: runs.length };
    index.problems.push({ row, id: problem.id, digest: digestOf(text), ...place });
    index.bytes += frame.length;
  }
  await fs.writeFile(places.index, JSON.stringify(index));
}

/** Identifies a list of problems by their ids and contents, in order. */
export function digestOfAll(problems: readonly StoredProblem[]): string {
  return digestOf(JSON.stringify(problems.map(({ id, digest }) => [id, digest])));
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Null: it does not exist, or is incomplete. */
async function openStore(folder: string): Promise<ProblemStore | null> {
  const places = placesIn(folder);
  const text = await ifPresent(places.index, (file) => fs.readFile(file, "utf8"), "bad_data");
  const index = indexSchema.safeParse(jsonOrNull(text ?? "")).data;
  const data = await statOf(places.problems, "bad_data");
  if (index === undefined || data?.size !== index.bytes) return null;
  const byRow = new Map(index.problems.map((place) => [place.row, place]));
  const problems = index.problems.map(({ row, id, digest }) => ({ row, id, digest }));
  return {
    digest: digestOfAll(problems),
    rows: index.rows,
    problems,
    malformed: index.malformed,
    read: async ({ row }) => {
      const place = byRow.get(row);
      if (place === undefined) throw new TroupeError("internal", `${folder} has no problem of row ${row}`);
      return readProblem(folder, place);
    },
    shingles: () => readShingles(folder, index),
  };
}

async function readProblem(
  folder: string,
  { offset, length }: z.infer<typeof placeSchema>,
): Promise<AnyProblem> {
  const { problems } = placesIn(folder);
  try {
    await using handle = await fs.open(problems);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, offset);
    return checkedProblem(JSON.parse((await unpack(buffer)).toString("utf8")));
  } catch (error) {
    throw damaged(problems, folder, error);
  }
}

async function readShingles(folder: string, { problems }: Index): Promise<ReadonlyMap<number, Uint32Array>> {
  const { shingles: file } = placesIn(folder);
  const bytes = await fs.readFile(file).catch((error: unknown) => {
    throw damaged(file, folder, error);
  });
  const all = new Uint32Array(new Uint8Array(bytes).buffer, 0, bytes.length >> 2);
  const byRow = new Map<number, Uint32Array>();
  let start = 0;
  for (const { row, shingles } of problems) byRow.set(row, all.subarray(start, (start += shingles)));
  if (start !== all.length) throw damaged(file, folder, undefined);
  return byRow;
}

function damaged(file: string, folder: string, cause: unknown): TroupeError {
  const fix = `delete ${folder}; it is made again from what was downloaded`;
  return new TroupeError("bad_data", `${file} is damaged: ${fix}`, { cause });
}

// --- Problems that fail their own tests ---

const failingSchema = z.strictObject({ row: z.int(), id: z.string(), reason: z.string() });
const failingFileSchema = z.strictObject({ version: z.literal(2), failing: z.array(failingSchema) });

/** Its solution failed when `troupe data verify` ran it. */
export type FailingProblem = Readonly<z.output<typeof failingSchema>>;

/** By the digest of the split's problems: it holds for equal contents wherever they are, and for no others. */
function failingFile({ solutions }: CacheLayout, { digest }: ProblemStore): string {
  return path.join(solutions, `${digest}.json`);
}

/** Empty if no solutions were run. @throws TroupeError `bad_data` if the file is damaged */
export async function readFailing(
  cache: CacheLayout,
  store: ProblemStore,
): Promise<readonly FailingProblem[]> {
  const file = failingFile(cache, store);
  const text = await ifPresent(file, () => fs.readFile(file, "utf8"), "bad_data");
  const { data, error } = failingFileSchema.safeParse(text === null ? noneFailing : jsonOrNull(text));
  if (data !== undefined) return data.failing;
  const fix = `delete it, and \`${command("data", "verify")} DATASET\` makes it again`;
  throw new TroupeError("bad_data", `${file} is damaged: ${fix}`, { cause: error });
}

/** Replaces what an earlier verification found. */
export async function writeFailing(
  cache: CacheLayout,
  store: ProblemStore,
  failing: readonly FailingProblem[],
): Promise<void> {
  await makeCacheDirectory(cache.solutions);
  await writeFileDurably(failingFile(cache, store), `${JSON.stringify({ ...noneFailing, failing })}\n`);
}

const noneFailing = { version: 2, failing: [] };
