/** The experiment `magrpo-table` in a folder with stand-ins for the models and data sets that it needs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";

const cwd = mkdtempSync(path.join(tmpdir(), "troupe-magrpo-table-"));
const env = { TROUPE_CACHE: path.join(cwd, "cache"), HF_ENDPOINT: "http://127.0.0.1:9" };
const models = ["models/Qwen2.5-Coder-3B", "models/Qwen2.5-Coder-7B"];

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function put(file: string, text: string): void {
  mkdirSync(path.join(cwd, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(cwd, file), text);
}

function rowsOf(count: number): string {
  const rows = Array.from({ length: count }, (_, index) => ({
    task_id: `made/${index}`,
    prompt: `def add_${index}(number):\n    """Add ${index} to a number."""\n`,
    entry_point: `add_${index}`,
    canonical_solution: `    return number + ${index}\n`,
    test: `def check(candidate):\n    assert candidate(1) == ${index + 1}\n`,
  }));
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

test("one message names all that is missing, before anything starts", { timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runCommand(["experiment", "magrpo-table"], { cwd, env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  for (const model of models)
    expect(stderr).toContain(`hf download Qwen/${path.basename(model)} --local-dir ${model}`);
  expect(stderr).toContain("the data set humaneval: troupe data download humaneval");
  expect(stderr).toContain("the data set coophumaneval: troupe data download coophumaneval");
});

test("with them, the cells are those of the published recipes", { timeout: 120_000 }, async () => {
  for (const model of models)
    for (const file of ["config.json", "tokenizer.json"]) put(`${model}/${file}`, "{}");
  put("cache/data/placed/openai/openai_humaneval/test.jsonl", rowsOf(164));
  put("cache/data/placed/OpenMLRL/CoopHumanEval/test.jsonl", rowsOf(82));
  const { code, stdout, stderr } = await runCommand(["experiment", "magrpo-table", "--dry-run"], {
    cwd,
    env,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("12 results from 6 cells (6 trainings)");
});
