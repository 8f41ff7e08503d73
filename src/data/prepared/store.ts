/**
 * Problems on disk, each compressed separately: a set of several gigabytes opens at once and takes no memory. A folder
 * with `problems.zst`, concatenated frames of JSON, `shingles.bin`, for comparing prompts, and `index.json`, with the
 * position of each.
 */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";
import { ifPresent, statOf } from "../../present.ts";
import { checkedProblem, type AnyProblem } from "../problem-kinds.ts";

/**
 * Compares problems by their runs of eight words, ignoring case, punctuation and line breaks. (The 16 problems that
 * CoopHumanEval took from HumanEval share at least 56 % of them; no two different problems of HumanEval share more than
 * 26 %.)
 */
const run = 8;

/** Letters and digits in lower case; `has_close_elements` is three words. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Distinct hashes of all word runs, in ascending order; a shorter text is one run. Shape [≥ 1]. */
export function shinglesOf(text: string): Uint32Array {
  const words = wordsOf(text);
  const hashes = new Set<number>();
  for (let start = 0; start === 0 || start + run <= words.length; start++)
    hashes.add(hashOf(words.slice(start, start + run)));
  return Uint32Array.from(hashes).toSorted();
}

/** FNV-1a of 32 bits over UTF-16 units, words separated. */
function hashOf(words: readonly string[]): number {
  let hash = 0x811c9dc5;
  for (const word of words) {
    for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ 0x20, 0x01000193);
  }
  return hash >>> 0;
}

const pack = promisify(zstdCompress);
const unpack = promisify(zstdDecompress);
/** Frames carry a checksum: disk damage is an error, not another problem. */
const packing = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

/** Increase it with every change of the format. */
export const storeVersion = 2;

export interface MalformedRow {
  /** From 0, of the split. */
  readonly row: number;
  readonly reason: string;
}

const indexSchema = z.strictObject({
  version: z.literal(storeVersion),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  problems: z.array(
    z.strictObject({
      row: z.int(),
      id: z.string(),
      digest: z.string(),
      offset: z.int(),
      length: z.int(),
      shingles: z.int(),
    }),
  ),
  malformed: z.array(z.strictObject({ row: z.int(), reason: z.string() })),
});
type Index = z.infer<typeof indexSchema>;

export interface StoredProblem {
  /** From 0, of the split. */
  readonly row: number;
  readonly id: string;
  /** Of its contents: prompt, tests, solutions, limits. */
  readonly digest: string;
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
  /** For comparing prompts (contamination/shingles.ts), by row. @throws TroupeError `bad_data` */
  shingles(): Promise<ReadonlyMap<number, Uint32Array>>;
}

const dataName = "problems.zst";
const shinglesName = "shingles.bin";
const indexName = "index.json";

/** A row as a problem, or why it is malformed. */
export type MappedRow = { readonly problem: AnyProblem } | { readonly reason: string };

/** Fills the folder. Rows that repeat an earlier id are malformed, too. */
export async function writeStore(folder: string, rows: AsyncIterable<MappedRow>): Promise<void> {
  const index: Index = { version: storeVersion, rows: 0, bytes: 0, problems: [], malformed: [] };
  const rowOfId = new Map<string, number>();
  await using frames = await fs.open(path.join(folder, dataName), "w");
  await using shingles = await fs.open(path.join(folder, shinglesName), "w");
  for await (const mapped of rows) {
    const row = index.rows++;
    const checked = unique(mapped, rowOfId);
    if ("reason" in checked) {
      index.malformed.push({ row, reason: checked.reason });
      continue;
    }
    const { problem } = checked;
    rowOfId.set(problem.id, row);
    const text = JSON.stringify(problem);
    const frame = await pack(text, packing);
    await frames.appendFile(frame);
    const runs = shinglesOf(problem.prompt);
    await shingles.appendFile(new Uint8Array(runs.buffer));
    const place = { offset: index.bytes, length: frame.length, shingles: runs.length };
    index.problems.push({ row, id: problem.id, digest: digestOf(text), ...place });
    index.bytes += frame.length;
  }
  await fs.writeFile(path.join(folder, indexName), JSON.stringify(index));
}

/** Of a list of problems: their ids and contents, in order. */
export function digestOfAll(problems: readonly StoredProblem[]): string {
  return digestOf(JSON.stringify(problems.map(({ id, digest }) => [id, digest])));
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function unique(mapped: MappedRow, rowOfId: ReadonlyMap<string, number>): MappedRow {
  if ("reason" in mapped) return mapped;
  const first = rowOfId.get(mapped.problem.id);
  return first === undefined
    ? mapped
    : { reason: `the id ${mapped.problem.id} is that of row ${first}, too` };
}

/** Null: it does not exist, or is incomplete. */
export async function openStore(folder: string): Promise<ProblemStore | null> {
  const index = await readIndex(folder);
  if (index === null) return null;
  const places = new Map(index.problems.map((place) => [place.row, place]));
  const problems = index.problems.map(({ row, id, digest }) => ({ row, id, digest }));
  return {
    digest: digestOfAll(problems),
    rows: index.rows,
    problems,
    malformed: index.malformed,
    read: async ({ row }) => {
      const place = places.get(row);
      if (place === undefined) throw new TroupeError("internal", `${folder} has no problem of row ${row}`);
      return readProblem(folder, place);
    },
    shingles: () => readShingles(folder, index),
  };
}

async function readIndex(folder: string): Promise<Index | null> {
  const text = await ifPresent(path.join(folder, indexName), (file) => fs.readFile(file, "utf8"), "bad_data");
  const index = indexSchema.safeParse(jsonOrNull(text ?? "")).data;
  const data = await statOf(path.join(folder, dataName), "bad_data");
  return index !== undefined && data?.size === index.bytes ? index : null;
}

async function readShingles(folder: string, { problems }: Index): Promise<ReadonlyMap<number, Uint32Array>> {
  const file = path.join(folder, shinglesName);
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

async function readProblem(
  folder: string,
  { offset, length }: Index["problems"][number],
): Promise<AnyProblem> {
  const file = path.join(folder, dataName);
  try {
    await using handle = await fs.open(file);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, offset);
    return checkedProblem(JSON.parse((await unpack(buffer)).toString("utf8")));
  } catch (error) {
    throw damaged(file, folder, error);
  }
}

function damaged(file: string, folder: string, cause: unknown): TroupeError {
  const fix = `delete ${folder}; it is made again from what was downloaded`;
  return new TroupeError("bad_data", `${file} is damaged: ${fix}`, { cause });
}
