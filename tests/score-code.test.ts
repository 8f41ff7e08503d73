/** `troupe score` on programming problems, as a process of its own: it runs what it scores in the sandbox, and ends. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-score-code-"));
afterAll(() => rmSync(folder, { recursive: true }));

const rows = ["add", "subtract"].map((name, index) => ({
  task_id: `small/${index}`,
  prompt: `def ${name}(a, b):\n    """${name} two numbers."""\n`,
  entry_point: name,
  canonical_solution: `    return a ${name === "add" ? "+" : "-"} b\n`,
  test: `def check(candidate):\n    assert candidate(3, 2) == ${name === "add" ? 5 : 1}\n    assert candidate(2, 2) == ${name === "add" ? 4 : 0}\n`,
}));

const jsonLines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

interface Line {
  readonly rewards: readonly Readonly<Record<string, { readonly team: number; readonly reason?: string }>>[];
  readonly outcome: { readonly success: boolean; readonly score: number };
}

describe.runIf(works)("troupe score code", () => {
  it("scores teams and single coders, and what cheats fails", async () => {
    const helper = "def aux(a, b):\n    return a - b\n";
    const actions = [
      [{ helper, main: "def subtract(a, b):\n    c = aux(a, b)\n    return c + 0\n" }],
      [{ helper, main: "def subtract(a, b):\n    return aux(a, b)\n" }],
      [{ single: rows[1]?.prompt + (rows[1]?.canonical_solution ?? "") }],
      [{ single: "import os\ndef subtract(a, b):\n    os._exit(0)\n    return 1\n" }],
    ];
    const [data, lines] = ["test.jsonl", "lines.jsonl"].map((name) => path.join(folder, name));
    writeFileSync(data ?? "", jsonLines(rows));
    writeFileSync(lines ?? "", jsonLines(actions.map((each) => ({ task: 0, actions: each }))));
    const dataset = JSON.stringify({ files: { test: data }, form: "humaneval" });
    const splits = JSON.stringify({ train: "test[:1]", heldOut: "test[1:]" });
    const given = [`environment.dataset=${dataset}`, `environment.splits=${splits}`];
    const env = { TROUPE_CACHE: folder };
    const run = await runCommand(["score", "code", lines ?? "", ...given], { cwd: folder, env });
    expect(run.stderr).toContain("4 of 4 lines scored, 3 of them successful");
    const scored = run.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    expect(scored.map(({ rewards }) => Object.values(rewards[0] ?? {}).map(({ team }) => team))).toEqual([
      [1, 1],
      [0.75, 0.75],
      [1],
      [(0.6 + 0.5) / 2.1],
    ]);
    expect(scored[3]?.outcome).toEqual({ success: false, score: 0 });
  });
});
