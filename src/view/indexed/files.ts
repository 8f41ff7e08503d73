/** The files of an index: what was appended after the head was written does not count. */
import { constants as modes } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { crc32 } from "node:zlib";
import { jsonOrNull } from "../../json.ts";
import { ifPresent, statOf } from "../../present.ts";
import { fileNames, headSchema, type Head } from "./format.ts";

/** For opening a file of an index: not through a link, which may be put there at any time, and without waiting for a pipe. */
export const plainly = modes.O_RDONLY | modes.O_NOFOLLOW | modes.O_NONBLOCK;

/** Whether the folder is gone, or it or anything in it is something else than a run's viewer puts there. */
export async function isForeign(folder: string): Promise<boolean> {
  const found = await ifPresent(folder, (name) => fs.lstat(name));
  if (found === null || !found.isDirectory()) return true;
  const entries = await fs.readdir(folder, { withFileTypes: true });
  return !entries.every((entry) => entry.isFile());
}

/** Null: there is none, none of this version, or it was changed. */
export async function readHead(folder: string): Promise<Head | null> {
  const bytes = await ifPresent(path.join(folder, "head.json"), (file) =>
    fs.readFile(file, { flag: plainly }),
  );
  const { head, crc } = (jsonOrNull(bytes?.toString("utf8") ?? "") ?? {}) as {
    head?: unknown;
    crc?: unknown;
  };
  const parsed = headSchema.safeParse(head);
  return parsed.success && crc === sumOfHead(head) ? parsed.data : null;
}

/** As it is in its file: with a CRC-32, as a count or a role's name that was changed would give other totals. */
export function writtenHead(head: Head): string {
  return JSON.stringify({ head, crc: sumOfHead(head) });
}

/** JSON that is read is written in the same way again. */
function sumOfHead(head: unknown): number {
  return crc32(JSON.stringify(head));
}

/** Whether every file is as it was written. */
export async function isUnchanged(folder: string, { files }: Head): Promise<boolean> {
  for (const name of fileNames) {
    const { bytes, crc } = files[name];
    // One with a second name, as in a copy of hard links, would change there, too.
    if (((await statOf(path.join(folder, `${name}.bin`)))?.nlink ?? 0) > 1) return false;
    if ((await sumOf(path.join(folder, `${name}.bin`), 0, bytes, 0, plainly)) !== crc) return false;
  }
  return true;
}

/**
 * Writes after so many bytes of a file, and removes what a failed write left there. It follows no link.
 * False: the file has fewer, or is gone.
 */
export async function appendAt(file: string, end: number, bytes: Uint8Array): Promise<boolean> {
  const handle = await ifPresent(file, () => fs.open(file, modes.O_WRONLY | modes.O_NOFOLLOW));
  if (handle === null) return false;
  try {
    const { size } = await handle.stat();
    if (size < end) return false;
    if (size > end) await handle.truncate(end);
    for (let done = 0; done < bytes.length;)
      done += (await handle.write(bytes, done, bytes.length - done, end + done)).bytesWritten;
    return true;
  } finally {
    await handle.close();
  }
}

/** CRC-32 of a part of a file, going on from that of what is before. Null: the file is shorter. */
export async function sumOf(
  file: string,
  start: number,
  end: number,
  before: number,
  flags: string | number = "r",
): Promise<number | null> {
  if (start === end) return before;
  if (((await statOf(file))?.size ?? 0) < end) return null;
  await using handle = await fs.open(file, flags);
  let sum = before;
  for await (const piece of handle.createReadStream({ start, end: end - 1, highWaterMark: 2 ** 20 }))
    sum = crc32(piece as Buffer, sum);
  return sum;
}

export async function rowsIn(file: string): Promise<Uint32Array> {
  const bytes = await fs.readFile(file, { flag: plainly });
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
