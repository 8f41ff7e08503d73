/**
 * Files as values: whoever refers to a file holds the hash of its contents, and a store holds the bytes, each once.
 */
import { createHash } from "node:crypto";
import { TroupeError } from "../errors.ts";

export interface FileStore {
  /** Stores bytes, unless it has them. @returns their hash */
  put(bytes: Uint8Array): Promise<string>;
  /** @throws TroupeError `bad_run` if the bytes are missing or damaged */
  get(hash: string): Promise<Uint8Array>;
}

/** A file where its bytes are elsewhere. A type, not an interface: only types are assignable to JSON. */
export type FileReference = {
  readonly hash: string;
  /** Bytes. */
  readonly size: number;
};

/** SHA-256, in hexadecimal. */
export function hashOfBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export async function storeFile(store: FileStore, bytes: Uint8Array): Promise<FileReference> {
  return { hash: await store.put(bytes), size: bytes.length };
}

export function missingBytes(hash: string, where: string): TroupeError {
  return new TroupeError(
    "bad_run",
    `The contents of a file (${hash.slice(0, 16)}…) are not in ${where}: restore that folder, or remove programs.jsonl, so that programs run again.`,
  );
}
