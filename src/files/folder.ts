/** Files in a folder, `ab/abcdef…` by hash: those of a run. They are written once and never changed. */
import fs from "node:fs/promises";
import path from "node:path";
import { makeDirectory, writeFileDurably } from "../runs/durable.ts";
import { TroupeError } from "../errors.ts";
import { ifPresent } from "../present.ts";
import { hashOfBytes, missingBytes, type FileStore } from "./store.ts";

export function folderFiles(folder: string): FileStore {
  const place = (hash: string): string => path.join(folder, hash.slice(0, 2), hash);
  const writing = new Map<string, Promise<void>>();
  return {
    async put(bytes) {
      const hash = hashOfBytes(bytes);
      const written = writing.get(hash) ?? writeOnce(place(hash), bytes);
      writing.set(hash, written);
      await written.finally(() => writing.delete(hash));
      return hash;
    },
    async get(hash) {
      const bytes = await ifPresent(place(hash), (file) => fs.readFile(file));
      if (bytes === null || hashOfBytes(bytes) !== hash) throw missingBytes(hash, folder);
      return bytes;
    },
  };
}

/** On disk before the caller records the hash: a record never names bytes that a crash could lose. */
async function writeOnce(file: string, bytes: Uint8Array): Promise<void> {
  // Damaged contents are replaced: the program that wrote them has run again.
  const found = await ifPresent(file, () =>
    fs.readFile(file).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EISDIR" ? folderInstead(file) : error;
    }),
  );
  if (found !== null && Buffer.compare(found, bytes) === 0) return;
  await makeDirectory(path.dirname(file));
  await writeFileDurably(file, bytes);
}

function folderInstead(file: string): TroupeError {
  return new TroupeError(
    "bad_run",
    `${file} is a folder, where a run keeps the contents of a file: remove it`,
  );
}
