import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, relative, sep } from "node:path";

/**
 * A short name for the contents of a module's files: 16 hexadecimal digits. It stays the same where the whole folder is
 * moved. What the module reads while it runs is not covered.
 */
export function contentHash(entry: string, files: readonly string[]): string {
  const hash = createHash("sha256");
  const named = files.map((file) => [relative(dirname(entry), file).replaceAll(sep, "/"), file] as const);
  for (const [name, file] of named.toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const content = readFileSync(file);
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, 16);
}
