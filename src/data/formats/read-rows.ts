/** Reads the rows of a file, in the format given by its name. */
import fs from "node:fs/promises";
import { TroupeError } from "../../errors.ts";
import { openFile, readJsonLines, readJsonArray } from "./json-lines.ts";
import { readParquet } from "./parquet.ts";
import type { ReadRow } from "./row.ts";

/** Supported extensions; `.json` may contain an array or JSON lines. */
export const dataFile = /\.(parquet|jsonl|ndjson|json)(\.gz)?$/;

export interface FileToRead {
  /** Path of its bytes. */
  readonly location: string;
  /** Its name, which determines the format. */
  readonly name: string;
}

/**
 * @throws TroupeError `bad_data` for a file that cannot be read, or of an unknown format
 */
export async function* readRows(
  { location, name }: FileToRead,
  columns?: readonly string[],
): AsyncGenerator<ReadRow> {
  const [, kind, archive] = dataFile.exec(name) ?? [];
  const isCompressed = archive !== undefined;
  if (kind === undefined || (kind === "parquet" && isCompressed)) throw unknownKind(name);
  try {
    yield* rowsOf({ location, name }, kind, isCompressed, columns);
  } catch (error) {
    throw error instanceof TroupeError ? error : unreadable(location, name, error as Error);
  }
}

async function* rowsOf(
  { location, name }: FileToRead,
  kind: string,
  isCompressed: boolean,
  columns: readonly string[] | undefined,
): AsyncGenerator<ReadRow> {
  await rejectPointer(location, name);
  if (kind === "parquet") yield* readParquet(location, columns);
  else if (kind === "json" && (await beginsWithBracket(location, isCompressed)))
    yield* readJsonArray(location, isCompressed);
  else yield* readJsonLines(location, isCompressed);
}

/** The disk, or a damaged archive. */
function unreadable(location: string, name: string, cause: Error): TroupeError {
  const where = name === location ? name : `${name} (${location})`;
  const isArchive = (cause as NodeJS.ErrnoException).code?.startsWith("Z_") === true;
  const problem = isArchive
    ? `is a damaged or incomplete archive (${cause.message})`
    : `cannot be read: ${cause.message}`;
  const fix = isArchive
    ? "delete it and download or copy it again"
    : "check the disk and the rights of the file";
  return new TroupeError("bad_data", `${where} ${problem}; ${fix}`, { cause });
}

function unknownKind(name: string): TroupeError {
  const expected = "expected .parquet, .jsonl, .ndjson or .json, the last three also with .gz";
  return new TroupeError("bad_data", `${name}: data files of this kind are not read; ${expected}`);
}

/** Written by `git clone` without Git LFS. */
async function rejectPointer(location: string, name: string): Promise<void> {
  await using handle = await fs.open(location);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
  if (!buffer.toString("latin1", 0, bytesRead).startsWith("version https://git-lfs.github.com/")) return;
  const fix = "run `git lfs pull` where it was cloned, or download the file itself";
  throw new TroupeError(
    "bad_data",
    `${name} (${location}) is a pointer of Git LFS, without the data; ${fix}`,
  );
}

async function beginsWithBracket(file: string, isCompressed: boolean): Promise<boolean> {
  for await (const chunk of openFile(file, isCompressed)) {
    const text = chunk
      .toString("latin1")
      .replace(/^\u00ef\u00bb\u00bf/, "")
      .trimStart();
    if (text !== "") return text.startsWith("[");
  }
  return false;
}
