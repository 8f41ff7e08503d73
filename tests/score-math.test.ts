/** Commands on mathematics problems, as processes of their own: they end although answers are compared in a thread. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-score-math-"));
afterAll(() => rmSync(folder, { recursive: true }));

const jsonLines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
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

interface Line {
  readonly rewards: readonly { readonly reasoner: { readonly team: number } }[];
}

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
    const scored = run.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    expect(scored.map(({ rewards }) => rewards[0]?.reasoner.team)).toEqual([1, 1, 0, 0, 1]);
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
