/** Files of a run, which others may have put something else in the place of. */
import { createReadStream, type Stats } from "node:fs";
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";

/**
 * Reading a pipe would wait for ever, and a device may have no end.
 * @throws TroupeError `bad_run` for those; the errors of `fs.readFile`
 */
export async function readRegular(file: string): Promise<Buffer> {
  checkKind(file, await fs.stat(file));
  return fs.readFile(file);
}

/** Of at most 16 MiB each: Node reads no file of more than 2 GiB at once. */
const longestPiece = 2 ** 24;

/** The bytes of a file of any size, in order. @throws as `readRegular` */
export async function* piecesOf(file: string): AsyncGenerator<Buffer, void> {
  const found = await fs.stat(file);
  checkKind(file, found);
  const highWaterMark = Math.min(Math.max(found.size, 1), longestPiece);
  for await (const piece of createReadStream(file, { highWaterMark })) yield piece as Buffer;
}

/** To read parts of it. @throws as `readRegular` */
export async function openRegular(file: string): Promise<fs.FileHandle> {
  checkKind(file, await fs.stat(file));
  return fs.open(file);
}

function checkKind(file: string, found: Stats): void {
  if (found.isFile() || found.isDirectory()) return;
  throw new TroupeError(
    "bad_run",
    `${file} is a pipe or a device; expected a file. Put the run's own file back, or remove it.`,
  );
}
