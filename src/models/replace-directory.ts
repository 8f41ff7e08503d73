/** Replaces an earlier save: the new directory is complete on disk before the old one is removed. */
import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isPresentSync } from "../present.ts";
import { TroupeError } from "../errors.ts";
import {
  removeDirectory,
  syncPath,
  temporaryPrefix,
  writeDirectoryDurably,
  writing,
} from "../runs/durable.ts";

/**
 * Fills a temporary folder next to `directory` and renames it. An existing directory is replaced only if it is empty or
 * holds `marker`, the file that identifies a save: no other user data is ever deleted. A crash between the two renames
 * leaves no directory of that name, but both of its versions next to it.
 */
export async function replaceDirectory(
  directory: string,
  marker: string,
  fill: (temporary: string) => Promise<void>,
): Promise<void> {
  const target = resolve(directory);
  if (!isPresentSync(target, "bad_model")) return writeDirectoryDurably(target, fill);
  if (!isReplaceable(target, marker)) {
    const what = `${directory} exists and is not an earlier save (it has no ${marker})`;
    throw new TroupeError("bad_arguments", `${what}. Choose a new directory.`);
  }
  const suffix = randomBytes(4).toString("hex");
  const next = join(dirname(target), `${temporaryPrefix}${basename(target)}-next-${suffix}`);
  await writeDirectoryDurably(next, fill);
  await removeDirectory(target);
  await writing(target, async () => {
    await rename(next, target);
    await syncPath(dirname(target));
  });
}

/** Whether a name means a folder that is empty or holds the marker. */
export function isReplaceable(target: string, marker: string): boolean {
  if (!statSync(target).isDirectory()) return false;
  return isPresentSync(join(target, marker), "bad_model") || readdirSync(target).length === 0;
}
