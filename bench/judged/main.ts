/**
 * Every recipe of recipes/algorithms with all rewards from a judge, for a few steps from an untrained model:
 *
 *     node bench/judged/main.ts [NAME...]
 *
 * Without names it writes docs/results/judged-algorithms.md and .json.
 */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { judgedRun, type JudgedRow } from "./run.ts";
import { tableOf } from "./table.ts";

const root = path.join(import.meta.dirname, "..", "..");
const folder = path.join(root, "recipes", "algorithms");
const names = process.argv.slice(2);
const files = names.length > 0 ? names.map((name) => `${name}.yaml`) : (await fs.readdir(folder)).toSorted();
const scratch = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-judged-"));
const rows: JudgedRow[] = [];
try {
  for (const file of files) {
    const row = await judgedRun(path.join(folder, file), scratch);
    rows.push(row);
    console.log(JSON.stringify(row));
  }
} finally {
  await fs.rm(scratch, { recursive: true });
}
if (names.length === 0) {
  const results = path.join(root, "docs", "results", "judged-algorithms");
  await fs.writeFile(`${results}.json`, `${JSON.stringify({ schema_version: 1, rows }, null, 2)}\n`);
  await fs.writeFile(`${results}.md`, tableOf(rows));
}
