/** `troupe score` on games in which the first seat writes programs, without the models of their recipes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";
import { solvers } from "../src/environments/programs/testing/solvers.ts";
import { createGame } from "../src/environments/registry.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-score-programs-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Line {
  readonly rewards: readonly Readonly<Record<string, { readonly team: number; readonly local: number }>>[];
  readonly outcome: { readonly success: boolean };
}

const linesOf = <Value>(text: string): Value[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Value);

it("troupe tasks needs no model, troupe train does", { timeout: 60_000 }, async () => {
  const recipe = "at-grpo-games/sokoban-program";
  const drawn = await runCommand(["tasks", recipe, "--count", "2"], { cwd: folder });
  expect(linesOf<{ readonly split: string }>(drawn.stdout).map(({ split }) => split)).toEqual([
    "heldOut",
    "heldOut",
  ]);
  const { code, stderr } = await runCommand(["train", recipe], { cwd: folder });
  expect(code).toBe(2);
  expect(stderr).toContain("models/Qwen3-1.7B does not exist");
});

describe.runIf(works)("troupe score with programs", () => {
  it.each([
    ["plan-path", "scout", "plan-path"],
    ["sokoban", "proposer", "at-grpo-games/sokoban-program"],
    ["sudoku", "proposer", "at-grpo-games/sudoku-program"],
  ])("%s", { timeout: 60_000 }, async (name, writer, recipe) => {
    const options = ["environment.programs={}"];
    const drawn = await runCommand(["tasks", recipe, "--count", "2", ...options], { cwd: folder });
    const game = createGame(name, {});
    const lines = linesOf<{ readonly task: never }>(drawn.stdout).flatMap(({ task }) => {
      const planner = game.solve(game.start(task), "planner");
      const texts = [solvers[name] ?? "", "```python\nwhile True: print(1)\n```", "no program"];
      return texts.map((text) => ({ task, actions: [{ [writer]: text }, { planner }] }));
    });
    const file = path.join(folder, `${name}.jsonl`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { stdout, stderr } = await runCommand(["score", recipe, file, ...options], { cwd: folder });
    expect(stderr).toContain("6 of 6 lines scored, 6 of them successful");
    const scored = linesOf<Line>(stdout).map(({ rewards: [first] }) => first?.[writer]);
    for (const reward of [0, 3].map((index) => scored[index])) {
      expect(reward?.team).toBe(1);
      // Rounding of sums of doubles.
      expect(reward?.local).toBeCloseTo(1, 12);
    }
    for (const reward of [1, 4].map((index) => scored[index])) {
      expect(reward).toMatchObject({ team: 0, local: 0.1, reason: /printed more than/ });
    }
    for (const reward of [2, 5].map((index) => scored[index])) {
      expect(reward).toMatchObject({ team: 0, local: 0, reason: /SyntaxError/ });
    }
  });
});
