/** Archives of directories, of plain files alone: links may lead anywhere. */
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import type { TarHeader } from "modern-tar";
import { packTar, unpackTar } from "modern-tar/fs";
import { TroupeError } from "../../../errors.ts";

/** Of an archive of weights, in files of a few gigabytes. */
const mostEntries = 10_000;

/** A directory's files, in the order of their names. */
export async function* tarOf(directory: string): AsyncGenerator<Buffer> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const sources = files
    .toSorted()
    .map((source) => ({ type: "file" as const, source, target: relative(directory, source) }));
  // Neither the rights of the files nor their owner are anybody's business.
  const map = ({ name, size, mtime }: TarHeader): TarHeader => ({
    name,
    size,
    mtime: mtime ?? new Date(0),
    type: "file",
  });
  yield* packTar(sources, { map }) as AsyncIterable<Buffer>;
}

/**
 * Writes an archive's files below the directory.
 * @throws TroupeError `bad_model` if it is damaged, or has a name that leads elsewhere or something other than files;
 * whatever the archive's source throws
 */
export async function extractTar(archive: AsyncIterable<Buffer>, directory: string): Promise<void> {
  let entries = 0;
  const filter = ({ name, type }: TarHeader): boolean => {
    if (++entries > mostEntries) throw damaged(`it has more than ${mostEntries} entries`);
    if (type === "directory") return false;
    if (type !== "file") throw damaged(`${JSON.stringify(name)} is not a plain file`);
    const parts = name.replace(/^\.\//, "").split("/");
    if (name.includes("\\") || parts.some((part) => ["", ".", ".."].includes(part)))
      throw damaged(`the name ${JSON.stringify(name)} leads elsewhere`);
    return true;
  };
  try {
    await pipeline(archive, unpackTar(directory, { strict: true, fmode: 0o644, filter }));
  } catch (error) {
    // Errors of the disk, the connection and the decompression have a code.
    if (!(error instanceof Error) || error instanceof TroupeError || "code" in error) throw error;
    throw damaged(error.message.replace(/\.$/, ""), error);
  }
}

function damaged(what: string, cause?: Error): TroupeError {
  return new TroupeError("bad_model", `The archive is not understood: ${what}.`, { cause });
}
