/** `troupe tasks` and `troupe score` on problems: programs in the sandbox, answers compared in a thread. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-score-"));
afterAll(() => rmSync(folder, { recursive: true }));

const jsonLines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

interface Line {
  readonly rewards: readonly Readonly<Record<string, { readonly team: number }>>[];
  readonly outcome: { readonly success: boolean; readonly score: number };
}

const scoredIn = (stdout: string): readonly Line[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

const rows = ["add", "subtract"].map((name, index) => ({
  task_id: `small/${index}`,
  prompt: `def ${name}(a, b):\n    """${name} two numbers."""\n`,
  entry_point: name,
  canonical_solution: `    return a ${name === "add" ? "+" : "-"} b\n`,
  test: `def check(candidate):\n    assert candidate(3, 2) == ${name === "add" ? 5 : 1}\n    assert candidate(2, 2) == ${name === "add" ? 4 : 0}\n`,
}));

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
    const scored = scoredIn(run.stdout);
    expect(scored.map(({ rewards }) => Object.values(rewards[0] ?? {}).map(({ team }) => team))).toEqual([
      [1, 1],
      [0.75, 0.75],
      [1],
      [(0.6 + 0.5) / 2.1],
    ]);
    expect(scored[3]?.outcome).toEqual({ success: false, score: 0 });
  });
});

const at = (name: string): string => path.join(folder, name);

const own = [
  { text: "Add one and one half.", result: "\\frac{3}{2}" },
  { text: "Solve x squared equals four.", result: ["2, -2"] },
];
const contest = [
  { text: "Add one and one half.", result: 1.5 },
  { text: "The square root of 27.", result: "3\\sqrt{3}" },
];
const fields = { prompt: "text", answer: "result" };
const dataset = JSON.stringify({ files: { train: at("own.jsonl") }, fields });
const other = { files: { test: at("contest.jsonl") }, fields };
const splits = JSON.stringify({ train: "train", heldOut: { dataset: other, slices: "test" } });
const given = [`environment.dataset=${dataset}`, `environment.splits=${splits}`];
const options = { cwd: folder, env: { TROUPE_CACHE: at("cache") } };

beforeAll(() => {
  writeFileSync(at("own.jsonl"), jsonLines(own));
  writeFileSync(at("contest.jsonl"), jsonLines(contest));
});

describe("mathematics on the command line", () => {
  it("tasks and score: splits of two data sets, with answers in any form", async () => {
    const tasks = await runCommand(["tasks", "math", ...given], options);
    expect(tasks.stdout.trim().split("\n")).toHaveLength(2);
    const lines = ["\\boxed{3/2}", "\\boxed{1.5}", "The answer is 2", "\\boxed{9^{9^{9^9}}}"].map(
      (reasoner) => ({
        task: 0,
        actions: [{ reasoner }],
      }),
    );
    const root = { task: 1, actions: [{ reasoner: "\\boxed{\\sqrt{27}}" }] };
    writeFileSync(at("lines.jsonl"), jsonLines([...lines, root]));
    const run = await runCommand(["score", "math", at("lines.jsonl"), ...given], options);
    expect(scoredIn(run.stdout).map(({ rewards }) => rewards[0]?.["reasoner"]?.team)).toEqual([
      1, 1, 0, 0, 1,
    ]);
    expect(run.stderr).toContain("5 of 5 lines scored, 3 of them successful");
  });

  it.each([
    ["math/grpo-gsm8k", []],
    ["math/grpo-polaris", ["environment.splits.validation=null"]],
  ])("the recipe %s takes other data sets", async (recipe, overrides) => {
    const tasks = await runCommand(["tasks", recipe, ...given, ...overrides], options);
    expect(tasks.stderr).not.toContain("error");
    expect(tasks.stdout.trim().split("\n")).toHaveLength(2);
  });

  it("problems without tests are not for the environment code", async () => {
    const code = [
      `environment.dataset=${dataset}`,
      'environment.splits={"train":"train[:1]","heldOut":"train[1:]"}',
    ];
    const run = await runCommand(["tasks", "code", ...code], options);
    expect(run.stderr).toContain("has a final answer and no tests");
  });
});
