import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { jsonLines, runCommand } from "../testing/command.ts";
import type { Outcome, Surroundings, Words } from "../testing/command.ts";
import { folderWith } from "../testing/folder.ts";

const cwd = folderWith();

function run(args: Words, options: Partial<Surroundings> = {}): Promise<Outcome> {
  return runCommand(args, { cwd, ...options });
}

type Printed = Record<string, unknown>;

// The solution is 1234 3412 2143 4321.
const puzzle = { size: 4, clues: "1....4...14...2.", solution: "1234341221434321" };
const solution = "[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]";
const solved = {
  rewards: [{ planner: { team: 1, local: 1, parts: { format: 0.1, legality: 0.1, progress: 0.8 } } }],
  outcome: { success: true, score: 1 },
};

function call(name: string, given: object): string {
  return `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;
}

const acting = (planner: object) => ({ actions: [{ planner }] });

describe("troupe score", () => {
  it("prints rewards and outcome of each line in order, and an error in place of an invalid line", async () => {
    const objectsOf = [
      { task: puzzle, actions: [{ planner: `#### ${solution}` }], id: "mine" },
      { task: puzzle, actions: [{ writer: "" }] },
      { task: puzzle, actions: [{ proposer: "b1=3", planner: "b1=2 a1=2" }, { planner: "" }] },
      { task: { size: 4 }, actions: [] },
      { actions: [] },
      { task: puzzle, actions: [{ planner: 4 }] },
      { task: -1, actions: [] },
      { task: 0, split: "test", actions: [] },
      { task: puzzle, actions: [{ planner: { text: solution, truncated: true } }] },
    ];
    const [first, second, ...others] = objectsOf.map((line) => JSON.stringify(line));
    const lines = [first, "{", second, "", ...others];
    await writeFile(join(cwd, "actions.jsonl"), lines.join("\n"));
    const { code, stdout, stderr } = await run("score sudoku actions.jsonl");
    expect(code).toBe(1);
    expect(stderr).toBe("3 of 10 lines scored, 2 of them successful (66.7 %); 7 could not be\n");
    const results = jsonLines<Printed>({ stdout });
    expect(results).toHaveLength(10);
    expect(results[0]).toEqual(solved);
    expect(results[3]).toMatchObject({
      rewards: [
        { proposer: { team: 0, local: 0 }, planner: { team: 1 / 11, reason: "a1 is a clue" } },
        { planner: { team: 0, local: 0, reason: "no plan found" } },
      ],
      outcome: { success: false, score: 1 / 11 },
    });
    expect(results[9]).toEqual(solved);
    expect(results.flatMap(({ error, line }) => (error === undefined ? [] : [[line, error]]))).toEqual([
      [2, expect.stringMatching(/^line 2: not JSON: /)],
      [3, expect.stringMatching(/^line 3: action 1 names the seat writer, .* are proposer, planner$/)],
      [6, "line 6: task.clues: missing; expected text"],
      [
        7,
        expect.stringMatching(/^line 7: task: missing; expected a task as `troupe tasks RECIPE` prints it/),
      ],
      [
        8,
        expect.stringMatching(/^line 8: actions\.0\.planner: expected text or a mapping with .*, found 4$/),
      ],
      [9, "line 9: task: a number is an index in the split, from 0"],
      [10, "line 10: sudoku has no split test; its splits are train, validation, heldOut"],
    ]);
  });

  it.each([
    [acting({ txt: "b1=2" }), "actions.0.planner: expected text or a mapping"],
    [acting({ text: "", calls: [{}] }), "actions.0.planner.calls.0.name: missing; expected text"],
    [acting({ text: "", cals: [] }), "actions.0.planner.cals: unknown key; did you mean `calls`?"],
    [{ actions: "b1=2" }, 'actions: expected a list, each item a mapping from names, found "b1=2"'],
    [{ actions: [], split: 1 }, "split: expected text, found 1"],
    [{ actions: [], task: { ...puzzle, size: 5 } }, "task.size: expected one of 4, 6, 9, found 5"],
    [
      { actions: [], task: { ...puzzle, clues: "ab" } },
      'task.clues: expected text that matches /^[1-9.]*$/, found "ab"',
    ],
    [[], "expected a mapping with the keys task, split, index, actions, found an empty list"],
  ])("says in plain words what is wrong with %j", async (line, problem) => {
    const given = Array.isArray(line) ? line : { task: puzzle, ...line };
    const { stdout } = await run("score sudoku - --json", { input: JSON.stringify(given) });
    expect(jsonLines<Printed>({ stdout })[0]).toHaveProperty(
      "error",
      expect.stringContaining(`line 1: ${problem}`),
    );
  });

  it("accepts a recipe's environment, with overrides", async () => {
    const board = { size: 3, walls: ".........", goal: 2 };
    const line = { task: { board, start: 0 }, actions: [{ scout: "a1 b1 c1" }] };
    const input = JSON.stringify(line);
    // A single scout moves the agent with its route.
    const changes = ["environment.scoutWalks=true", "team.roles.planner=null", "team.phases=[[scout]]"];
    const alone = await run(["score", "plan-path", "-", ...changes, "evaluation.compare={}"], { input });
    expect(jsonLines<Printed>(alone)[0]).toHaveProperty("outcome.success", true);
    const usual = await run("score scaling/k-2 -", { input });
    expect(jsonLines<Printed>(usual)[0]).toHaveProperty("outcome.success", false);
  });

  it("lets the tools of a recipe's roles answer calls, and rewards the replies", async () => {
    const index = join(cwd, "towns.jsonl");
    await writeFile(index, '{"text":"Ada was born in Oslo."}\n');
    await writeFile(join(cwd, "asked.jsonl"), '{"question":"Where was Ada born?","answers":["Oslo"]}\n');
    const recipe = "questions/decomposer-searcher";
    const changes = [
      `environment.dataset.files.heldOut=${join(cwd, "asked.jsonl")}`,
      `environment.dataset.files.train=${join(cwd, "asked.jsonl")}`,
      `team.roles.searcher.tools=[{name: search, index: "${index}"}]`,
      "team.roles.searcher.toolCalls=2",
    ];
    const search = { searcher: call("search", { query: "Ada" }) };
    const begin = { decomposer: "1. Where was Ada born?" };
    const lines = [
      [begin, search, { searcher: "Answer: Oslo" }],
      [begin, { searcher: { text: "", calls: [{ name: "search", arguments: { query: "Ada" } }] } }],
      [begin, { searcher: call("look", {}) }, { searcher: "Answer: Rome" }],
      // A third call is not made: it is the reply.
      [begin, search, search, search],
      [begin, search, begin],
    ].map((actions) => JSON.stringify({ task: 0, actions }));
    const { stdout } = await run(["score", recipe, "-", "--json", ...changes], { input: lines.join("\n") });
    const results = jsonLines<Printed>({ stdout });
    expect(results[0]).toMatchObject({
      rewards: [{ decomposer: null }, { searcher: null }, { searcher: { team: 1 } }],
      outcome: { success: true },
    });
    expect(results[1]).toMatchObject({ rewards: [{}, { searcher: null }], outcome: { success: false } });
    expect(results[2]).toHaveProperty(
      "rewards.1.searcher.reason",
      "there is no tool look; the tools are search",
    );
    expect(results[3]).toMatchObject({ rewards: [{}, {}, { searcher: null }, { searcher: { team: 0 } }] });
    expect(results[4]).toHaveProperty("error", "line 5: action 3 is by decomposer, but searcher acts there");
  });

  it("checks its arguments before it reads anything", async () => {
    for (const [args, problem] of [
      [["soduku", "-"], "did you mean `sudoku`"],
      [["sudoku", "nowhere.jsonl"], "cannot read nowhere.jsonl: ENOENT"],
      [["nowhere.jsonl", "sudoku"], /then the file: `.* score sudoku nowhere\.jsonl`/],
      [["sudoku", "."], "error: cannot read .: it is a folder\n"],
    ] as const) {
      const { code, stdout, stderr } = await run(["score", ...args], { input: "" });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(problem);
    }
  });

  it("ignores thinking", async () => {
    const texts = [
      `<think>Is it ${solution}?</think>\n\n#### [[0,1,2]]`,
      `${solution}\n</think>\nI cannot tell.`,
      `<think>It is ${solution}`,
      `b1=2 <thinking is hard`,
    ];
    const input = texts
      .map((text) => JSON.stringify({ task: puzzle, actions: [{ planner: text }] }))
      .join("\n");
    const { stdout } = await run("score sudoku - --json", { input });
    const scores = jsonLines<Printed>({ stdout }).map(({ outcome }) => (outcome as { score: number }).score);
    expect(scores).toEqual([1 / 11, 0, 0, 1 / 11]);
  });

  it("keeps the order, and accepts empty input", async () => {
    const inputs = Array.from({ length: 20 }, (_, index) => ({
      task: index % 7,
      actions: [{ planner: "up" }],
    }));
    const args = ["score", "plan-path", "-", "--json"];
    const input = inputs.map((line) => JSON.stringify(line)).join("\r\n");
    const one = await run([...args, "--jobs", "1"], { input });
    const many = await run([...args, "--jobs", "7"], { input });
    expect(one).toMatchObject({ code: 0, stderr: "" });
    expect(many.stdout).toBe(one.stdout);
    expect(jsonLines<Printed>(one)).toHaveLength(20);
    expect(await run("score plan-path -", { input: "\n\n" })).toEqual({
      code: 0,
      stdout: "",
      stderr: "0 of 0 lines scored\n",
    });
  });

  it("answers a line before the next one is written", async () => {
    const child = spawn(process.execPath, [program, "score", "sudoku", "-", "--json"], { cwd });
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    for (const action of [solution, "b1=2"]) {
      child.stdin.write(`${JSON.stringify({ task: puzzle, actions: [{ planner: action }] })}\n`);
      const { value } = await answers.next();
      expect(jsonLines<object>({ stdout: String(value) })[0]).toHaveProperty(
        "outcome.success",
        action === solution,
      );
    }
    child.stdin.end();
    expect((await once(child, "close"))[0]).toBe(0);
  });

  it("ends without an error when its reader closes", async () => {
    const line = `${JSON.stringify({ task: puzzle, actions: [{ planner: "b1=2" }] })}\n`;
    await writeFile(join(cwd, "long.jsonl"), line.repeat(5_000));
    const child = spawn(process.execPath, [program, "score", "sudoku", "long.jsonl"], { cwd });
    await once(child.stdout, "data");
    child.stdout.destroy();
    expect((await once(child, "close"))[0]).toBe(0);
  });
});

/** Sums of lists; answers arrive a moment later. Tasks are whole numbers, one of them broken. */
const sums = `
import { setTimeout as delay } from "node:timers/promises";
const seats = { pupil: { purpose: "Adds.", prompt: "Add.", maxTokens: 4 } };
const list = (...tasks) => ({ size: tasks.length, at: async (index) => tasks[index] });
export default {
  name: "sums",
  summary: "A pupil doubles a number.",
  options: { parse: ({ slow = 0 }) => ({ slow }) },
  create: async ({ slow }) => ({
    name: "sums",
    seats,
    tasks: { train: list(1), heldOut: list(7, 5, 7, 9) },
    start: async (task) => {
      await delay(slow * (10 - task));
      if (task === 9) throw new Error("nine is broken");
      return { task, said: null };
    },
    next: ({ said }) => (said === null ? ["pupil"] : []),
    observe: ({ task }) => String(task),
    step: async (state, { pupil }) => {
      await delay(slow);
      const right = Number(pupil.text) === 2 * state.task;
      const reward = { team: right ? 1 : 0, local: 0, parts: {} };
      return { state: { ...state, said: pupil.text }, rewards: { pupil: reward }, done: true };
    },
    outcome: ({ task, said }) => ({ success: Number(said) === 2 * task, score: Number(said) === 2 * task ? 1 : 0 }),
    render: ({ task }) => String(task),
  }),
};
`;

describe("an environment of a module", () => {
  it("prints and scores tasks of a slow environment that sometimes fails", async () => {
    await writeFile(join(cwd, "sums.mjs"), sums);
    const tasks = await run("tasks sums.mjs");
    expect(jsonLines<Printed>(tasks)).toEqual(
      [7, 5, 9].map((task, place) => ({ task, split: "heldOut", index: [0, 1, 3][place] })),
    );
    expect(tasks.stderr).toBe("heldOut has 3 distinct tasks\n");
    const answered = jsonLines<Printed>(tasks).map((line) => ({ ...line, actions: [{ pupil: "10" }] }));
    const byIndex = [0, 1, 2, 3, 4].map((task) => ({ task, actions: [{ pupil: "14" }] }));
    const input = [...answered, ...byIndex].map((line) => JSON.stringify(line)).join("\n");
    const scored = await run("score ./sums.mjs - environment.slow=3", { input });
    expect(scored.code).toBe(1);
    const results = jsonLines<Printed>(scored).map(
      ({ outcome, error }) => error ?? (outcome as { score: number }).score,
    );
    const broken = 'sums threw "Error: nine is broken" (sums.mjs:15:29) on this task or these actions';
    const missing = "the split heldOut has 4 tasks, from 0 on; there is no task 4";
    expect(results).toEqual([0, 1, `line 3: ${broken}`, 1, 0, 1, `line 7: ${broken}`, `line 8: ${missing}`]);
  });

  it("accepts overrides of its own options only", async () => {
    const stray = await run("tasks sums.mjs train.steps=4");
    expect(stray).toMatchObject({ code: 2, stdout: "" });
    expect(stray.stderr).toContain("train: there is no recipe to override");
    const missing = await run("tasks sum.mjs");
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(missing.stderr).toContain("did you mean sums.mjs?");
  });
});

describe("troupe tasks", () => {
  it("prints the evaluation tasks, which score accepts by index and in full", async () => {
    const { code, stdout, stderr } = await run("tasks sudoku --split validation --count 5");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const tasks = jsonLines<Printed>({ stdout });
    expect(tasks.map(({ split, index }) => [split, index])).toEqual(
      [0, 1, 2, 3, 4].map((index) => ["validation", index]),
    );
    const rest = await run("tasks sudoku --split validation --count 2 --offset 3");
    expect(jsonLines<Printed>(rest)).toEqual(tasks.slice(3));
    const solutions = tasks.map(({ task }) => (task as typeof puzzle).solution);
    const actions = (index: number): object[] => [{ planner: rowsOf(solutions[index] ?? "") }];
    const whole = tasks.map((line, index) => ({ ...line, actions: actions(index) }));
    const byIndex = tasks.map((_, index) => ({ task: index, split: "validation", actions: actions(index) }));
    const input = [...whole, ...byIndex].map((line) => JSON.stringify(line)).join("\n");
    const scored = await run("score sudoku -", { input });
    expect(scored.stderr).toBe("10 of 10 lines scored, 10 of them successful (100.0 %)\n");
    expect(jsonLines<Printed>(scored)).toEqual(tasks.flatMap(() => [solved, solved]));
  });

  it("omits repeated tasks, and reports the end of the split", async () => {
    const few = ["tasks", "eight-queens", "environment.size=6", "--count", "1000"];
    const { code, stdout, stderr } = await run(few);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "heldOut has 40 distinct tasks\n" });
    const lines = jsonLines<Printed>({ stdout });
    expect(new Set(lines.map(({ task }) => JSON.stringify(task))).size).toBe(40);
    // They keep the numbers of their draws.
    expect(Number(lines.at(-1)?.["index"])).toBeGreaterThan(39);
    expect(await run([...few, "--offset", "40"])).toEqual({ code: 0, stdout: "", stderr });
    expect(await run([...few, "--offset", "40", "--json"])).toEqual({ code: 0, stdout: "", stderr: "" });
    const unknown = await run("tasks sudoku --split test");
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain("sudoku has no split test; its splits are train, validation, heldOut");
  });

  it("ends without an error when its reader closes", async () => {
    const child = spawn(process.execPath, [program, "tasks", "plan-path", "--count", "100000"], { cwd });
    await once(child.stdout, "data");
    child.stdout.destroy();
    expect((await once(child, "close"))[0]).toBe(0);
  });
});

const program = fileURLToPath(new URL("../../../bin/troupe.js", import.meta.url));

function rowsOf(grid: string): string {
  const rows = Array.from({ length: 4 }, (_, row) => Array.from(grid.slice(4 * row, 4 * row + 4), Number));
  return JSON.stringify(rows);
}
