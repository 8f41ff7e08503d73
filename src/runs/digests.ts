/** Digests of texts, and of the files of a folder. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { cannotRead, ifPresent } from "../present.ts";

/**
 * SHA-256 of each file below the folder, by its path with slashes. Symbolic links are not followed.
 * @throws TroupeError `bad_run` for a file that cannot be read
 */
export async function digestsOf(directory: string): Promise<Record<string, string>> {
  const entries = await fs.readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const digests: Record<string, string> = {};
  for (const file of files.toSorted()) digests[nameIn(directory, file)] = await digestOfFile(file);
  return digests;
}

/**
 * The first file that is missing or has other contents. Null: all are as they were.
 * @throws TroupeError `bad_run` for a file that cannot be read
 */
export async function firstDifference(
  directory: string,
  expected: Readonly<Record<string, string>>,
): Promise<string | null> {
  for (const [name, digest] of Object.entries(expected)) {
    const file = path.join(directory, name);
    const isFile = (await ifPresent(file, () => fs.lstat(file)))?.isFile() === true;
    if (!isFile) return `${name} is missing`;
    if ((await digestOfFile(file)) !== digest) return `${name} was changed`;
  }
  return null;
}

export function digestOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function nameIn(directory: string, file: string): string {
  return path.relative(directory, file).split(path.sep).join("/");
}

/** @throws TroupeError `bad_run` for a file that cannot be read */
export async function digestOfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(file), hash);
  } catch (cause) {
    throw cannotRead(file, cause as Error);
  }
  return hash.digest("hex");
}
