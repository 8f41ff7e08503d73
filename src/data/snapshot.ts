/** The files of a data set at one revision: on the hub (hub/snapshot.ts), or in a folder, which is read here. */
import fs from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { TroupeError } from "../errors.ts";
import { ifPresent, statOf } from "../present.ts";
import type { Digest } from "./cache.ts";
import { dataFile } from "./formats/read-rows.ts";

export interface SnapshotFile {
  readonly path: string;
  /** Identifies the contents: equal identities have equal bytes. */
  readonly identity: string;
  readonly size: number;
  /** Absent: the file is in a folder. */
  readonly digest?: Digest;
}

export interface Snapshot {
  /** `openai/openai_humaneval`, or a folder. */
  readonly dataset: string;
  /** The commit; null: a folder in its current state. */
  readonly commit: string | null;
  readonly files: readonly SnapshotFile[];
  /** The configurations in the card, unchecked; null: there are none. */
  readonly configs: unknown;
  /** Where the file's bytes are on this machine; downloads them if necessary. */
  locate(file: SnapshotFile): Promise<string>;
  /** Where they are on this machine; null: they are not. */
  present(file: SnapshotFile): Promise<string | null>;
}

/** Data files are not in deeper folders. */
const deepest = 4;

/** A data set in a folder: a clone of its repository, or a user's files. */
export async function folderSnapshot(folder: string, dataset: string = folder): Promise<Snapshot> {
  const locate = ({ path: name }: SnapshotFile) => Promise.resolve(path.join(folder, name));
  return {
    dataset,
    commit: null,
    files: await filesIn(folder, "", deepest),
    configs: await configsOfCard(path.join(folder, "README.md")),
    locate,
    present: locate,
  };
}

async function filesIn(folder: string, prefix: string, depth: number): Promise<SnapshotFile[]> {
  const entries = await fs.readdir(path.join(folder, prefix));
  const names = entries.filter((name) => !name.startsWith("."));
  const found = await Promise.all(names.map((name) => filesAt(folder, path.posix.join(prefix, name), depth)));
  return found.flat().toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Symbolic links are followed: other tools' caches contain them. */
async function filesAt(folder: string, name: string, depth: number): Promise<SnapshotFile[]> {
  const found = await statOf(path.join(folder, name), "bad_data");
  if (found?.isDirectory() === true) return depth > 0 ? filesIn(folder, name, depth - 1) : [];
  if (found?.isFile() !== true || !dataFile.test(name)) return [];
  return [await fileSnapshot(path.join(folder, name), name)];
}

/** A file counts as unchanged while its path, size and modification time are the same. */
export async function fileSnapshot(file: string, name: string): Promise<SnapshotFile> {
  const { size, mtimeMs } = await fs.stat(file);
  return { path: name, size, identity: `${await fs.realpath(file)}:${size}:${mtimeMs}` };
}

/** The `configs` in the YAML at the start of a card. */
async function configsOfCard(file: string): Promise<unknown> {
  const card = (await ifPresent(file, () => fs.readFile(file, "utf8"), "bad_data")) ?? "";
  const front = /^---\r?\n(.*?)\r?\n---/s.exec(card)?.[1];
  try {
    return front === undefined ? null : ((parse(front) as { configs?: unknown } | null)?.configs ?? null);
  } catch (cause) {
    // Without what it says, other files could make up a split.
    const fix = "repair it, or remove the file, so that the names of the data files say what they are";
    throw new TroupeError("bad_data", `${file} does not begin with valid YAML: ${fix}`, { cause });
  }
}
