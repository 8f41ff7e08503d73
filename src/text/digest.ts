/** What the ids of a vocabulary mean, in one line: tokenizers that agree in it read the same tokens as the same text. */
import { createHash } from "node:crypto";
import type { Tokenizer } from "./tokenizer.ts";

/** SHA-256 of every id's bytes, special tokens included; merges, templates and end tokens have no part in it. */
export function vocabularyDigest({ allTokenBytes }: Pick<Tokenizer, "allTokenBytes">): string {
  const { bytes, lengths } = allTokenBytes();
  const hash = createHash("sha256");
  // Little-endian on every machine that this runs on.
  hash.update(new Uint8Array(lengths.buffer, lengths.byteOffset, lengths.byteLength)).update(bytes);
  return hash.digest("hex");
}
