import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { RunResult } from "../runs/records.ts";
import { resultSchema } from "../runs/records.ts";
import type { Outcome, Surroundings, Words } from "./testing/command.ts";
import { jsonLines, runCommand, troupe } from "./testing/command.ts";
import { folderWith, scoutRecipe } from "./testing/folder.ts";

const compare = {
  "single-agent": {
    roles: { planner: { policy: "shared", prompt: "" } },
    phases: [["planner"]],
    turns: 1,
  },
};
const cwd = folderWith({
  "small.yaml": scoutRecipe("small", { evaluation: { tasks: 4, compare } }),
});

function run(args: Words, options: Partial<Surroundings> = {}): Promise<Outcome> {
  return runCommand(args, { cwd, ...options });
}

function playSmall(...args: readonly string[]): Promise<Outcome> {
  return run(["play", "--run", "small", ...args], { input: "q\n" });
}

async function resultOf(name: string): Promise<RunResult> {
  return resultSchema.parse(JSON.parse(await readFile(join(cwd, "runs", name, "result.json"), "utf8")));
}

/** A dry run's, in a process of its own: the memory of this one would be counted, too. */
async function memoryWith(teach: string): Promise<number> {
  const policy = "policies.shared={model: {preset: medium}, adapter: {rank: 4}}";
  const args = ["train", "small.yaml", policy, `warmStart.teach=${teach}`, "--dry-run", "--json"];
  return (JSON.parse((await troupe(args, { cwd })).stdout) as { memory: number }).memory;
}

describe("troupe train", () => {
  it("--dry-run shows the recipe with origins and its cost, and writes nothing", async () => {
    const { code, stdout } = await run("train small.yaml train.steps=3 --dry-run");
    expect(code).toBe(0);
    expect(stdout).toContain("steps: 3 # override `train.steps=3`");
    expect(stdout).toMatch(/size: 3 # small\.yaml:4:9$/m);
    expect(stdout).toMatch(/policy shared: [\d,]+ parameters/);
    expect(stdout).toMatch(/time: about .*\nmemory: about \d+ MB/);
    expect(existsSync(join(cwd, "runs"))).toBe(false);
    const json = await run("train small.yaml --dry-run --json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      recipe: { name: "small" },
      warnings: [],
      policies: [{ name: "shared" }],
      measured: { processorShare: expect.toSatisfy((share: number) => share > 0 && share < 2) as number },
    });
  });

  it("--dry-run counts the whole models that a warm start of bases trains", async () => {
    // Gradients and both moments of six million parameters are 73 MB.
    expect((await memoryWith("bases")) - (await memoryWith("policies"))).toBeGreaterThan(40e6);
  });

  it("warns before training of a recipe that sums action rewards, in words, as JSON and in a dry run", async () => {
    const summed = "train small.yaml algorithm.name=magrpo algorithm.reward=action --runs summed";
    const warning = "warning: algorithm.reward: `action` sums over 2 turns the rewards of plan-path";
    const dry = await run(`${summed} --dry-run`);
    expect(dry.stdout).toContain(`Nothing was written.\n${warning}`);
    const trained = await run(summed);
    expect(trained.code).toBe(0);
    expect(trained.stderr.split("warning: ")).toHaveLength(2);
    expect(trained.stderr.indexOf(warning)).toBeLessThan(trained.stderr.indexOf("warm start 1/4"));
    const json = await run(`${summed} --json --fresh`);
    const events = jsonLines<{ type: string }>(json).filter(({ type }) => type === "warning");
    expect(events).toMatchObject([{ key: "algorithm.reward" }]);
  });

  it("trains, prints one line per step and the table; repeated, it prints the result", async () => {
    const first = await run("train small.yaml");
    expect(first.code).toBe(0);
    for (const line of ["warm start 4/4  loss ", "step 2/2  success ", "sample episode: "]) {
      expect(first.stderr).toContain(line);
      expect(first.stdout).not.toContain(line);
    }
    expect(first.stdout).toMatch(/single-agent before .*\n.*team before .*\n.*team after .*/);
    expect(first.stdout + first.stderr).not.toContain("\u001B");
    const again = await run("train small.yaml");
    expect(again.code).toBe(0);
    expect(again.stderr).toContain("the run is already finished; --fresh starts a new one");
    expect(again.stderr).not.toContain("warm start 1/4");
    const reworded = await run(["train", "small.yaml", "description=Better words."]);
    expect(reworded.stderr).toContain("the run is already finished");
  });

  it("rejects another recipe under the same name, with the keys that differ; --fresh finds a free name", async () => {
    const other = await run("train small.yaml seed=7");
    expect(other.code).toBe(2);
    expect(other.stderr).toContain("seed: 1 there, 7 now");
    expect(other.stderr).toContain("--run small-2");
    const fresh = await run("train small.yaml seed=7 --fresh --json");
    expect(fresh).toMatchObject({ code: 0, stderr: "" });
    const events = jsonLines<{ type: string }>(fresh);
    expect(events[0]).toMatchObject({ type: "run-started", run: "small-2" });
    expect(events.filter(({ type }) => type === "step")).toHaveLength(6);
    expect(events.at(-1)).toMatchObject({ type: "finished", result: { seed: 7 } });
    expect(parse(await readFile(join(cwd, "runs", "small-2", "recipe.yaml"), "utf8"))).toMatchObject({
      seed: 7,
    });
  });

  // That the result is the same: train/stop-once.slow.test.ts, after a signal in each phase.
  it("finishes the step on Ctrl-C, says how to resume, and resumes", async () => {
    // Long enough for the signal to arrive before the end.
    const args = ["train", "small.yaml", "warmStart.steps=80"];
    const interrupted = await troupe([...args, "--run", "stopped"], {
      cwd,
      watch: (output, interrupt) => {
        if (output.includes("warm start 1/80")) interrupt();
      },
    });
    expect(interrupted.code).toBe(130);
    const told = /stopped after (warm start \d+); the same command resumes after (warm start \d+)\n$/;
    const [, stoppedAfter, resumesAfter] = told.exec(interrupted.stderr) ?? [];
    expect(stoppedAfter).toBeDefined();
    const resumed = await run([...args, "--run", "stopped"]);
    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain(`resumed after ${resumesAfter}\n`);
  });
});

describe("commands on runs", () => {
  it.each([
    ["train", ["train", "small.yaml", "--run", "broken"]],
    ["compare", ["runs", "compare", "small", "broken"]],
    ["eval", ["eval", "broken"]],
  ])("%s names a recipe that is no YAML any more", async (_, args) => {
    await cp(join(cwd, "runs", "small"), join(cwd, "runs", "broken"), { recursive: true });
    await writeFile(join(cwd, "runs", "broken", "recipe.yaml"), "name: [\n\u001b[2J");
    const { code, stderr } = await run(args);
    await rm(join(cwd, "runs", "broken"), { recursive: true });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(/^error: .*broken\/recipe\.yaml.*\n$/);
  });

  it("runs lists them and compare shows the differences", async () => {
    const { stdout } = await run("runs");
    expect(stdout).toMatch(/^small +finished +6\/6 +plan-path +at-grpo +\d/m);
    const listed = JSON.parse((await run("runs --json")).stdout) as { name: string; status: string }[];
    expect(listed.map(({ name }) => name)).toEqual(["small", "small-2", "stopped"]);
    const compared = await run("runs compare small small-2");
    expect(compared.stdout).toMatch(/^seed +1 +7$/m);
    expect(compared.stdout).toMatch(/^team after +\d/m);
    const json = JSON.parse((await run("runs compare small stopped --json")).stdout) as object;
    expect(json).toMatchObject({
      runs: ["small", "stopped"],
      recipe: [{ key: "warmStart.steps", values: [4, 80] }],
    });
  });

  it("runs compare marks what a run has not measured, and shows measures besides success", async () => {
    const other = join(cwd, "runs", "other");
    await cp(join(cwd, "runs", "small"), other, { recursive: true });
    const result = await resultOf("other");
    const terms = { team: { parses: { mean: 0.5, error: 0 } }, roles: {} };
    const table = result.table.filter(({ team }) => team === "team").map((row) => ({ ...row, terms }));
    await writeFile(join(other, "result.json"), JSON.stringify({ ...result, table }));
    const { stdout, code } = await run("runs compare small other");
    await rm(other, { recursive: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^single-agent before +[\d.]+ %.*\) +–$/m);
    expect(stdout).toMatch(/^pass@k, terms of the reward +small +other$/m);
    expect(stdout).toMatch(/^parses +– +0\.500$/m);
  });

  it("eval repeats the run's measurement, and accepts other tasks and temperatures", async () => {
    const { code, stdout } = await run("eval small --json");
    expect(code).toBe(0);
    const after = (await resultOf("small")).table.find(({ moment }) => moment === "after");
    const scores = JSON.parse(stdout) as { success: number; turns: number };
    expect(scores).toMatchObject({ tasks: 4, success: after?.success, turns: after?.turns });
    const other = await run("eval runs/small --team single-agent --tasks 7 --temperature 1");
    expect(other.stdout).toMatch(/^single-agent +\d.* 7 +1\.00$/m);
  });

  it("play lets a person act with the run's policies or the solver", async () => {
    const withSolver = await run("play small.yaml --role planner", { input: "?\nnonsense\nq\n" });
    expect(withSolver).toMatchObject({ code: 0, stderr: "" });
    expect(withSolver.stdout).toContain("You are the planner");
    expect(withSolver.stdout).toMatch(/you: nonsense\n {2}→ team 0\.00, local 0\.00 .*: no plan found/);
    const withRun = await run("play --run small --role scout", { input: "a1\n" });
    expect(withRun).toMatchObject({ code: 0, stderr: "" });
    expect(withRun.stdout).toMatch(/you: a1\n/);
    expect((await run("play plan-path")).code).toBe(0);
  });

  it("play continues from a recorded state and seats the person as the role that acts next", async () => {
    const index = await readFile(join(cwd, "runs", "small", "episodes", "index.jsonl"), "utf8");
    const { id } = JSON.parse(index.split("\n")[0] ?? "") as { id: string };
    const later = await playSmall("--from", id, "--node", "0");
    expect(later).toMatchObject({ code: 0, stderr: "" });
    expect(later.stdout).toMatch(
      new RegExp(`^Continuing from ${id}, state 0, with the weights after step \\d+\\.\nYou are the planner`),
    );
    const first = await playSmall("--from", id);
    expect(first.stdout).toMatch(/, its first state, with .*\nYou are the scout/);
    const missing = await playSmall("--from", id, "--node", "55");
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain(`error: --node: ${id} has no state 55; it has 0, `);
    expect((await playSmall("--node", "0")).stderr).toContain("--node needs --from");
  });

  it.each(["q", "quit", "exit"])("play asks again after an empty line, and ends on %s", async (word) => {
    const silent = await run("play plan-path", { input: ` \n\n${word}\n` });
    expect(silent).toMatchObject({ code: 0, stderr: "" });
    expect(silent.stdout).not.toContain("you: ");
  });

  it("play takes a block of several lines as one action", async () => {
    const input = "```python\nprint(1)\nq\n```\n";
    const played = await run("play small.yaml --role planner", { input });
    expect(played).toMatchObject({ code: 0, stderr: "" });
    expect(played.stdout).toContain("you: ```python\nprint(1)\nq\n```\n");
  });

  it("play shows the rules, and accepts overrides of a recipe", async () => {
    const asked = await run("play plan-path environment.size=4", { input: "h\nq\n" });
    expect(asked).toMatchObject({ code: 0, stderr: "" });
    expect(asked.stdout).toMatch(/The board has 4 rows .* like this: c4 d4 d5\n/);
    expect(asked.stdout).not.toContain("→ team");
    const wrong = await run("play sokoban environment.boxes=9");
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    expect(wrong.stderr).toContain("environment.boxes: expected at most 3 in rooms of size 6, found 9");
    const both = await run("play plan-path seed=2 --run small");
    expect(both.stderr).toContain("overrides are not supported with --run");
  });
});

describe("models", () => {
  it("init --bytes creates one that reads the prompts of environments without a word list", async () => {
    const wordless = await run("init nano models/none --environment math");
    expect(wordless).toMatchObject({ code: 2, stdout: "" });
    expect(wordless.stderr).toContain("math has no word list for a tokenizer");
    expect(wordless.stderr).toContain("--bytes");
    expect(await run("init nano models/bytes --bytes")).toMatchObject({ code: 0, stderr: "" });
    await writeFile(join(cwd, "sums.jsonl"), '{"q":"1+1?","a":"2"}\n{"q":"2+3?","a":"5"}\n');
    const sums = {
      name: "sums",
      environment: {
        name: "math",
        form: "reasoner",
        dataset: { files: { train: "sums.jsonl" }, fields: { prompt: "q", answer: "a" } },
        splits: { train: "train[:1]", heldOut: "train[1:]" },
      },
      team: { roles: { reasoner: { policy: "one", maxTokens: 4 } }, turns: 1 },
      policies: { one: { model: { path: "models/bytes" } } },
      algorithm: { name: "grpo", samples: 2 },
      train: { steps: 1, tasksPerStep: 1, learningRate: 0.001 },
      evaluation: { tasks: 1 },
    };
    await writeFile(join(cwd, "sums.yaml"), JSON.stringify(sums));
    expect(await run("train sums.yaml")).toMatchObject({ code: 0 });
  });

  it("init creates one that a recipe can train, and overwrites nothing", async () => {
    const made = await run("init nano models/mine --recipe small.yaml --seed 3");
    expect(made).toMatchObject({ code: 0, stderr: "" });
    for (const name of ["config.json", "model.safetensors", "tokenizer.json"]) {
      expect(existsSync(join(cwd, "models", "mine", name))).toBe(true);
    }
    expect((await run("init nano models/mine")).stderr).toContain("models/mine already exists");
    const model = "policies.shared.model={preset: null, path: models/mine}";
    const trained = await run(["train", "small.yaml", model, "--run", "mine"]);
    expect(trained).toMatchObject({ code: 0 });
    const measured = await run("eval models/mine --recipe small.yaml --tasks 2 --json");
    expect(JSON.parse(measured.stdout)).toMatchObject({
      roles: { scout: { weights: "models/mine" } },
      tasks: 2,
    });
  });

  it("sft writes the warm-started model", async () => {
    const { code, stdout } = await run("sft small.yaml");
    expect(code).toBe(0);
    expect(stdout).toContain("model written: models/small-sft");
    expect(existsSync(join(cwd, "models", "small-sft", "model.safetensors"))).toBe(true);
    expect(await run("sft small.yaml")).toMatchObject({ code: 0 });
    const own = join(cwd, "own-model");
    await mkdir(own);
    for (const fresh of [[], ["--fresh"]]) {
      const taken = await run(["sft", "small.yaml", "--to", "own-model", ...fresh]);
      expect(taken).toMatchObject({ code: 2 });
      expect(taken.stderr).toContain("own-model already exists");
      expect(await readdir(own)).toEqual([]);
    }
    expect(existsSync(join(cwd, "runs", "small-sft-2"))).toBe(false);
    const none = await run("sft small.yaml warmStart=null");
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toContain("no warmStart");
  });
});
