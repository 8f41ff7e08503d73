/** Files in memory: for commands, whose results nobody keeps, and for tests. */
import { hashOfBytes, missingBytes, type FileStore } from "./store.ts";

/** @param below where bytes that are not in memory may be */
export function memoryFiles(below?: FileStore): FileStore {
  const known = new Map<string, Uint8Array>();
  return {
    put: async (bytes) => {
      const hash = hashOfBytes(bytes);
      if (!known.has(hash)) known.set(hash, Uint8Array.from(bytes));
      return hash;
    },
    get: async (hash) => {
      const bytes = known.get(hash) ?? (await below?.get(hash));
      if (bytes === undefined) throw missingBytes(hash, "memory");
      return bytes;
    },
  };
}
