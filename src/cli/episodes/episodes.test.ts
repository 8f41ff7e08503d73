/** `troupe replay` and `troupe rescore` as a user runs them, on a run of a few seconds. */
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { jsonLines, type Outcome, runCommand } from "../testing/command.ts";
import { folderWith, scoutRecipe } from "../testing/folder.ts";

const train = { steps: 2, tasksPerStep: 3, learningRate: 0.001, minibatches: 1 };
const warmStart = { steps: 5, demonstrationsPerStep: 8, learningRate: 0.003 };
const record = { training: { perStep: "all" } };
const cwd = folderWith({
  "tiny.yaml": scoutRecipe("tiny", { train, warmStart, record, evaluation: { tasks: 5 } }),
});

beforeAll(async () => {
  const { code, stderr } = await runCommand("train tiny.yaml", { cwd });
  if (code !== 0) throw new Error(stderr);
});

const run = (...args: readonly string[]): Promise<Outcome> => runCommand(args, { cwd });

describe("troupe replay", () => {
  it("finds no difference", async () => {
    const { code, stdout } = await run("replay", "tiny");
    expect(stdout).toMatch(/^replayed 16 episodes with \d+ joint actions: no differences\n$/);
    expect(code).toBe(0);
  });

  it("recomputes the log-probabilities with the weights that sampled", async () => {
    const { code, stdout } = await run("replay", "tiny", "--logprobs", "--evaluation", "after", "--json");
    const { episodes, logprobs } = JSON.parse(stdout) as {
      episodes: number;
      logprobs: { tokens: number; largestDifference: number };
    };
    expect({ code, episodes }).toEqual({ code: 0, episodes: 5 });
    expect(logprobs.tokens).toBeGreaterThan(10);
    // The same weights, kernels and threads: sampler and forward pass differ by rounding only.
    expect(logprobs.largestDifference).toBeLessThan(1e-3);
  });

  it("names the differences, and sets the exit code", async () => {
    await cp(join(cwd, "runs/tiny"), join(cwd, "runs/longer"), { recursive: true });
    const file = join(cwd, "runs/longer/recipe.yaml");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/turns: 2/, "turns: 3"));
    const { code, stdout } = await run("replay", "longer", "--step", "7", "--training");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^train\/2\/0, node [\d.]+, done: recorded true, now false$/m);
    expect(stdout).toMatch(/differences in [123] of them, exit code 1$/m);
  });

  it("replays one episode, and lists what is recorded if there is no such episode", async () => {
    expect((await run("replay", "tiny", "--episode", "evaluation/7/team/0")).code).toBe(0);
    const { code, stderr } = await run("replay", "tiny", "--step", "70");
    expect(code).toBe(2);
    expect(stderr).toContain(
      "keeps no such episode; it keeps episodes of the steps 6 to 7 and evaluations of team after the steps 5, 7",
    );
  });
});

interface Line {
  readonly episode: string;
  readonly role: string;
  readonly recorded: { readonly return: number; readonly advantage: number } | null;
  readonly now: { readonly return: number | null; readonly advantage: number };
}

async function lines(...args: readonly string[]): Promise<Line[]> {
  const rescored = await run("rescore", "tiny", "--json", ...args);
  expect(rescored).toMatchObject({ code: 0, stderr: "" });
  return jsonLines(rescored);
}

describe("troupe rescore", () => {
  it("with the run's own algorithm gives exactly what was recorded", async () => {
    const found = await lines();
    expect(new Set(found.map(({ episode }) => episode)).size).toBe(2 * 3);
    expect(found.some(({ recorded }) => recorded !== null && recorded.advantage !== 0)).toBe(true);
    expect(found.map(({ now }) => now)).toEqual(found.map(({ recorded }) => recorded));
  });

  it("with other options gives other numbers, by role in a table", async () => {
    const halved = await lines("alpha=0", "standardise=false");
    expect(halved.map(({ now }) => now.return)).not.toEqual(halved.map(({ recorded }) => recorded?.return));
    const { stdout } = await run("rescore", "tiny", "--algorithm", "marloo", "samples=2", "handOver=best");
    expect(stdout).toMatch(/^scout +\d+ /m);
    expect(stdout).toMatch(/^planner +\d+ /m);
    expect(await lines("algorithm.alpha=0", "algorithm.standardise=false")).toEqual(halved);
  });

  it("credits episodes of an evaluation, which were recorded without credit", async () => {
    const found = await lines("--algorithm", "reinforce", "--evaluation", "after");
    expect(await lines("algorithm.name=reinforce", "--evaluation", "after")).toEqual(found);
    expect(found.length).toBeGreaterThan(9);
    expect(
      found.every(({ recorded, episode }) => recorded === null && episode.startsWith("evaluation/7/")),
    ).toBe(true);
  });

  it("asks a judge for the rewards; a failed verdict leaves none", async () => {
    await writeFile(
      join(cwd, "judge.mjs"),
      `import { createInterface } from "node:readline";
       for await (const line of createInterface({ input: process.stdin })) {
         const { id, seat } = JSON.parse(line);
         console.log(JSON.stringify(seat === "scout" ? { id, score: 0.25 } : { id, failure: "no idea" }));
       }`,
    );
    const judge = `{name: command, run: [${process.execPath}, judge.mjs], fills: all}`;
    const found = await lines("--judge", judge);
    const ofRole = (name: string) => found.filter(({ role }) => role === name).map(({ now }) => now.return);
    expect(new Set(ofRole("scout"))).toEqual(new Set([0.25]));
    expect(new Set(ofRole("planner"))).toEqual(new Set([null]));
    const { stdout, stderr } = await run("rescore", "tiny", "--judge", judge);
    expect(stderr).not.toContain("no action got a verdict");
    const unasked = await run("rescore", "tiny", "--judge", judge.replace("all", "missing"));
    expect(unasked.stderr).toContain("no action got a verdict");
    expect(stdout).toContain(`${ofRole("planner").length} of the actions have no return now`);
    const own = await run("rescore", "tiny", "--judge", "own");
    expect(own).toMatchObject({ code: 2, stderr: expect.stringContaining("has no judge of its own") });
  });

  it("says what an algorithm lacks, and what is wrong with an option", async () => {
    const ppo = await run("rescore", "tiny", "--algorithm", "ppo");
    expect(ppo).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("ppo needs the values of a critic"),
    });
    const unknown = await run("rescore", "tiny", "sampels=2");
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("algorithm.sampels") });
  });
});
