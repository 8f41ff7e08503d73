/**
 * Contents by checksum: equal files of two revisions are stored once, and a file gets its name only when it is
 * complete.
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import path from "node:path";
import { statOf } from "../../present.ts";
import type { Digest, ListedFile } from "../hub/listing.ts";
import type { CacheLayout } from "./place.ts";

export function blobFile(cache: CacheLayout, { algorithm, hex }: Digest): string {
  return path.join(cache.blobs, `${algorithm}-${hex}`);
}

/** Path of the contents; null: missing, or of the wrong size. */
export async function findBlob(cache: CacheLayout, { digest, size }: ListedFile): Promise<string | null> {
  const file = blobFile(cache, digest);
  const found = await statOf(file, "bad_data");
  return found?.isFile() === true && found.size === size ? file : null;
}

/** Git hashes a header before the contents. */
export function hashOf({ digest, size }: Pick<ListedFile, "digest" | "size">): Hash {
  if (digest.algorithm === "sha256") return createHash("sha256");
  return createHash("sha1").update(`blob ${size}\0`);
}

/** Hashes a file from its start. */
export async function addFile(hash: Hash, file: string): Promise<void> {
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
}

/** Whether the contents on disk match their name. */
export async function isSound(file: string, listed: Pick<ListedFile, "digest" | "size">): Promise<boolean> {
  const hash = hashOf(listed);
  await addFile(hash, file);
  return hash.digest("hex") === listed.digest.hex;
}
