/** `kill -9` between the tool calls of a step and its training: the run ends with the same bytes as an undisturbed one. */
import { spawnSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { initModel } from "../src/models/init.ts";
import { writeByteTokenizer } from "../src/text/byte-tokenizer.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";

const script = path.join(import.meta.dirname, "support", "tools-process.ts");
let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-tools-resume-"));
  writeByteTokenizer(path.join(root, "tokenizer"));
  await initModel({
    directory: path.join(root, "model"),
    preset: "nano",
    tokenizer: path.join(root, "tokenizer"),
    seed: 1,
    maxLength: 8192,
  });
});
afterAll(() => fs.rm(root, { recursive: true }));

/** @param killAt 0: the process ends normally */
async function trainIn(name: string, killAt: number): Promise<void> {
  const cwd = path.join(root, name);
  await fs.mkdir(cwd, { recursive: true });
  const given = [script, String(killAt), path.join(root, "model")];
  const { signal, status, stderr } = spawnSync(process.execPath, given, { cwd, encoding: "utf8" });
  if (signal !== (killAt === 0 ? null : "SIGKILL") || (signal === null && status !== 0))
    throw new Error(`${signal} ${status}: ${stderr}`);
}

/** Programs are recorded in the order of their results, which depends on timing. */
async function recordsIn(name: string): Promise<Record<string, unknown>> {
  const { "programs.jsonl": programs = "", ...records } = await recordsOf(path.join(root, name, "run"));
  return { ...records, programs: programs.trim().split("\n").map(keyOf).toSorted() };
}

function keyOf(line: string): string {
  return (JSON.parse(line) as { readonly key: string }).key;
}

it("with Python and search", { timeout: 300_000 }, async () => {
  await trainIn("whole", 0);
  for (const killAt of [1, 2, 0]) await trainIn("parts", killAt);
  const [whole, parts] = [await recordsIn("whole"), await recordsIn("parts")];
  expect(parts).toEqual(whole);
  const programs = parts["programs"] as readonly string[];
  expect(programs.length).toBeGreaterThan(1);
  expect(new Set(programs).size).toBe(programs.length);
});
