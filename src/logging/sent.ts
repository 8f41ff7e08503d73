/**
 * What a service has already received: one JSON line per key, appended once it took them. Keys are steps and ids, so
 * steps that a resumed run repeats are not sent twice. Deleting the file sends everything again.
 */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { appendLines, cutLines } from "../runs/json-lines.ts";
import { schemaVersion } from "../runs/records.ts";

export interface Sent {
  has(key: string): boolean;
  add(keys: readonly string[]): Promise<void>;
}

/** @param destination another destination has received nothing */
export async function openSent(directory: string, sink: string, destination: string): Promise<Sent> {
  const folder = path.join(directory, "logging");
  await fs.mkdir(folder, { recursive: true });
  const name = createHash("sha256").update(destination).digest("hex").slice(0, 8);
  const file = path.join(folder, `${sink}-${name}.jsonl`);
  const lines = await cutLines(file, () => true);
  const known = new Set(lines.flatMap(({ key }) => (typeof key === "string" ? [key] : [])));
  return {
    has: (key) => known.has(key),
    async add(keys) {
      await appendLines(
        file,
        keys.map((key) => ({ schema_version: schemaVersion, key })),
      );
      for (const key of keys) known.add(key);
    },
  };
}
