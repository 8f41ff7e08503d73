import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import type { RunResult } from "../../runs/records.ts";

/** Services and programs answer concurrently: which of two answers comes first is no property of a run. */
const inOrderOfAnswers = new Set(["verdicts.jsonl", "programs.jsonl"]);

/** The contents of every file of a run (hashes of weights), by name, without wall-clock times. */
export async function recordsOf(directory: string): Promise<Record<string, string>> {
  const entries = await fs.readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== "timings.jsonl");
  const contents = files.map(async (entry) => {
    const file = path.join(entry.parentPath, entry.name);
    return [path.relative(directory, file), comparable(entry.name, await fs.readFile(file))] as const;
  });
  return Object.fromEntries(await Promise.all(contents));
}

function comparable(name: string, contents: Buffer): string {
  if (name === "result.json") return withoutClock(contents.toString());
  if (inOrderOfAnswers.has(name)) return contents.toString().split("\n").toSorted().join("\n");
  const isText = /\.(jsonl?|yaml)$/.test(name);
  return isText ? contents.toString() : createHash("sha256").update(contents).digest("hex");
}

function withoutClock(text: string): string {
  const { seconds: _, ...rest } = JSON.parse(text) as RunResult;
  return JSON.stringify(rest);
}
