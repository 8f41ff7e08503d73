/**
 * Folders for the time of one command. They contain their owner's lock, so the next command that makes such a folder
 * finds what a killed one left, and removes it.
 */
import { mkdtemp, rename, rm } from "node:fs/promises";
import path from "node:path";
import { namesIn, statOf } from "../present.ts";
import { makeDirectory, syncPath, syncTree, temporaryPrefix, writing } from "./durable.ts";
import { acquireLock, isLocked, lockPrefix } from "./lock.ts";

export interface Scratch extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Makes a folder `<prefix><random>` in `parent`, which is created if necessary. Disposing of it removes it.
 * @param abandoned prefix of the folders that are removed if their processes are gone
 */
export async function makeScratch(parent: string, prefix: string, abandoned = prefix): Promise<Scratch> {
  await makeDirectory(parent);
  for (const name of await namesIn(parent))
    if (name.startsWith(abandoned)) await removeIfAbandoned(path.join(parent, name));
  const directory = await writing(parent, () => mkdtemp(path.join(parent, prefix)));
  const lock = await acquireLock(directory, { name: "folder" });
  const dispose = async (): Promise<void> => {
    await removeContents(directory);
    await lock.release();
    await rm(directory, { recursive: true, force: true });
  };
  return { directory, [Symbol.asyncDispose]: dispose };
}

/**
 * Writes a file or a folder next to its place, and moves it there once it is on disk. What was there is replaced.
 * @param check called last before that; throws if something must stay
 */
export async function writeBeside<T>(
  target: string,
  check: () => void,
  fill: (place: string) => Promise<T>,
): Promise<T> {
  const place = path.resolve(target);
  const parent = path.dirname(place);
  const prefix = `${temporaryPrefix}${path.basename(place)}-`;
  await using scratch = await makeScratch(parent, prefix, temporaryPrefix);
  const [next, replaced] = ["next", "replaced"].map((name) => path.join(scratch.directory, name)) as [
    string,
    string,
  ];
  return await writing(target, async () => {
    const result = await fill(next);
    await syncTree(next);
    check();
    // A file is replaced at once, but not a folder with contents.
    if ((await statOf(place))?.isDirectory() === true) await rename(place, replaced);
    await rename(next, place);
    await syncPath(parent);
    return result;
  });
}

/** A folder without a lock may be anybody's, or be about to get one. */
async function removeIfAbandoned(directory: string): Promise<void> {
  const names = await namesIn(directory).catch(() => []);
  if (!names.some(isLock) || (await isLocked(directory))) return;
  await removeContents(directory);
  await rm(directory, { recursive: true, force: true });
}

/** The lock is last: without it, the rest would never be found again. */
async function removeContents(directory: string): Promise<void> {
  for (const name of await namesIn(directory))
    if (!isLock(name)) await rm(path.join(directory, name), { recursive: true, force: true });
}

function isLock(name: string): boolean {
  return name.startsWith(lockPrefix);
}
