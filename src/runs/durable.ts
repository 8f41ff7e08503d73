/**
 * Writes that survive a crash: a file or a folder appears under its name completely, or not at all. Its bytes are on
 * disk before its name, so that a power failure after the rename loses nothing.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { namesIn } from "../present.ts";

/** What happens where a command is repeated after a failed write, unless the caller says another thing. */
const runResumes = "a run resumes from its last checkpoint";

/** Names with this prefix are incomplete or being deleted; the lock's holder may delete them. */
export const temporaryPrefix = ".tmp-";

/** Replaces the file's contents atomically. */
export async function writeFileDurably(file: string, contents: string | Uint8Array): Promise<void> {
  const temporary = temporaryBeside(file);
  await writing(file, async () => {
    await orRemoved(temporary, async () => {
      await writeAndSync(temporary, contents);
      await fs.rename(temporary, file);
    });
    await syncPath(path.dirname(file));
  });
}

async function writeAndSync(file: string, contents: string | Uint8Array): Promise<void> {
  await using handle = await fs.open(file, "w");
  await handle.writeFile(contents);
  await handle.sync();
}

/** What could not be written completely would take the space of a full disk. */
async function orRemoved(temporary: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    await fs.rm(temporary, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

/** Fills a temporary folder and renames it once it is on disk. The name must be free. */
export async function writeDirectoryDurably(
  directory: string,
  fill: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = temporaryBeside(directory);
  await writing(directory, async () => {
    await orRemoved(temporary, async () => {
      await makeDirectory(temporary);
      await fill(temporary);
      await syncTree(temporary);
      await fs.rename(temporary, directory);
    });
    await syncPath(path.dirname(directory));
  });
}

/**
 * Creates the folder and its missing parents one by one: Node's own `recursive` retries forever if a folder does not
 * exist and cannot be created, as below /proc.
 */
export async function makeDirectory(directory: string, resumes = runResumes): Promise<void> {
  const make = async (): Promise<void> => {
    for (const missing of await missingFolders(path.resolve(directory))) await makeOne(missing, resumes);
  };
  await writing(directory, make, resumes);
}

/** From the top down. May include a file in the way: creating the folder then fails. */
async function missingFolders(directory: string): Promise<string[]> {
  const found = await fs.stat(directory).catch(() => null);
  const parent = path.dirname(directory);
  if (found?.isDirectory() === true || parent === directory) return [];
  return [...(await missingFolders(parent)), directory];
}

/** Another process may create the same folder at the same time. */
async function makeOne(directory: string, resumes: string): Promise<void> {
  try {
    await fs.mkdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      throw writeError(directory, "no folder can be created there. Choose another folder", error, resumes);
    if (code !== "EEXIST" || !(await fs.stat(directory)).isDirectory()) throw error;
  }
}

/** Renames the folder first, so that a half-deleted folder is never mistaken for a complete one. */
export async function removeDirectory(directory: string): Promise<void> {
  const temporary = temporaryBeside(directory);
  await writing(directory, async () => {
    await fs.rename(directory, temporary);
    await fs.rm(temporary, { recursive: true, force: true });
  });
}

/** Deletes what an interrupted process left in the folder, if that exists. */
export async function removeTemporaries(directory: string): Promise<void> {
  const names = await namesIn(directory);
  for (const name of names.filter((entry) => entry.startsWith(temporaryPrefix))) {
    await fs.rm(path.join(directory, name), { recursive: true, force: true });
  }
}

/** Flushes a file, or the entries of a folder, to disk. */
export async function syncPath(target: string): Promise<void> {
  await writing(target, async () => {
    await using handle = await fs.open(target, "r");
    await handle.sync();
  });
}

/** Flushes a file, or a folder with its contents, to disk. */
export async function syncTree(target: string): Promise<void> {
  if ((await fs.stat(target)).isDirectory())
    for (const name of await fs.readdir(target)) await syncTree(path.join(target, name));
  await syncPath(target);
}

function temporaryBeside(target: string): string {
  const suffix = randomBytes(4).toString("hex");
  return path.join(path.dirname(target), `${temporaryPrefix}${path.basename(target)}-${suffix}`);
}

/** What to do about a failed write. */
const remedies: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full. Free some space",
  EDQUOT: "the disk quota is used up. Free some space",
  EFBIG: "the file is larger than the system allows. Raise the limit",
  EACCES: "permission is denied. Make the folder writable, or choose another",
  EPERM: "the system does not permit it. Make the folder writable, or choose another",
  EROFS: "the file system is read-only. Choose another folder",
  ENOTDIR: "a file is in the way where a folder is needed. Choose another folder",
  EEXIST: "a file is in the way where a folder is needed. Choose another folder",
  ENOTEMPTY: "another process wrote there at the same time. Let only one write",
  ENOENT: "a parent folder is gone, or another process wrote there at the same time. Let only one write",
  EISDIR: "a folder is in the way where a file is needed. Remove it",
  ENAMETOOLONG: "the name is too long for the file system. Choose a shorter one",
  ELOOP: "links lead in a circle. Choose another folder",
  EBUSY: "another program uses it. Close that program",
  EIO: "the disk reports an error. Choose another disk",
  EMFILE: "too many files are open. Raise the limit (`ulimit -n`)",
  ENFILE: "too many files are open on this machine. Close some programs",
  ESTALE: "the network file system has lost it. Mount it again",
};

/** Node has no code for some system errors, such as EDQUOT; their number identifies them. */
function remedyFor({ code = "", errno = 0 }: NodeJS.ErrnoException): string | undefined {
  const named = Object.entries(os.constants.errno).find(([, number]) => number === -errno);
  return remedies[code] ?? remedies[named?.[0] ?? ""];
}

/**
 * Runs a write; a disk failure becomes an error that says what to do. Other errors pass through.
 * @param resumes what happens if the command is repeated; empty: nothing worth saying
 */
export async function writing<T>(target: string, write: () => Promise<T>, resumes = runResumes): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const remedy = remedyFor(error as NodeJS.ErrnoException);
    if (remedy === undefined) throw error;
    throw writeError(target, remedy, error, resumes);
  }
}

function writeError(target: string, remedy: string, cause: unknown, resumes = runResumes): TroupeError {
  const advice = `then repeat the command${resumes === "" ? "" : `; ${resumes}`}`;
  return new TroupeError("bad_run", `Cannot write ${target}: ${remedy}, ${advice}.`, { cause });
}
