/** Files in a folder, `ab/abcdef…` by hash: those of a run. They are written once and never changed. */
import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { makeDirectory, syncPath, temporaryPrefix } from "../runs/durable.ts";
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
      const bytes = await fs.readFile(place(hash)).catch(() => null);
      if (bytes === null || hashOfBytes(bytes) !== hash) throw missingBytes(hash, folder);
      return bytes;
    },
  };
}

/** On disk before the caller records the hash: a record never names bytes that a crash could lose. */
async function writeOnce(file: string, bytes: Uint8Array): Promise<void> {
  const found = await fs.stat(file).catch(() => null);
  if (found?.size === bytes.length) return;
  const directory = path.dirname(file);
  await makeDirectory(directory);
  const temporary = path.join(directory, `${temporaryPrefix}${randomBytes(6).toString("hex")}`);
  const handle = await fs.open(temporary, "w");
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await fs.rename(temporary, file);
  await syncPath(directory);
}
