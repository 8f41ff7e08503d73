import fs from "node:fs/promises";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { checkpointOf, checkpointSteps, readCheckpoint } from "./checkpoints.ts";
import type { NewEpisode } from "./episode-log.ts";
import { layoutOf } from "./layout.ts";
import { readEpisodeIndex } from "./read-episodes.ts";
import {
  listRuns,
  readEngines,
  readEvaluations,
  readMetrics,
  readRecipe,
  readResult,
  runFolders,
} from "./read.ts";
import { openRun } from "./run.ts";
import type { Run } from "./run.ts";
import type { Evaluation, RunResult, StepMetrics, Timing } from "./records.ts";
import type { RunState } from "./checkpoint-state.ts";

const recipe = "name: tiny\nseed: 1\n";
let root = "";
let directory = "";
beforeEach(() => {
  root = temporaryFolder();
  directory = path.join(root, "tiny");
});

const timing = (step: number): Timing => ({ schema_version: 1, step, what: "reinforcement", seconds: 0.5 });
const metrics = (step: number): StepMetrics => ({
  schema_version: 1,
  step,
  stage: "reinforcement",
  stageStep: step,
  policies: {},
});
const evaluation = (step: number): Evaluation => ({
  schema_version: 1,
  step,
  moment: "during",
  team: "team",
  tasks: 4,
  successes: 2,
  success: 0.5,
  low: 0.15,
  high: 0.85,
  score: 0.6,
  turns: 1.5,
  successByTurn: [0.25, 0.5],
  promptTokens: 10,
  sampledTokens: 5,
});
const state = (step: number): RunState => ({
  schema_version: 1,
  step,
  stage: "reinforcement",
  stageStep: step,
  policies: { shared: { kind: "checkpoint", location: "shared", version: step, directory: "shared" } },
});
const result: RunResult = {
  schema_version: 1,
  recipe: "tiny",
  seed: 1,
  engine: "none",
  steps: { warmStart: 0, reinforcement: 3 },
  policies: {},
  table: [evaluation(3)],
  tokens: { sampled: 5, sampledInTraining: 0, trained: 5 },
  seconds: { warmStart: 0, reinforcement: 1, evaluation: 1, total: 2 },
};

/** An episode with a prompt of its own and a shared one. */
function episodeOf(id: string, place: Pick<NewEpisode["entry"], "step" | "evaluation">): NewEpisode {
  const prompts = new Map(
    ["shared", id].map((text) => [text, { rest: () => ({ tokens: [text.length], text }) }] as const),
  );
  return { entry: { id, ...place, success: 1, score: 1 }, record: { episode: { id } }, prompts };
}

async function recordStep(run: Run, number: number): Promise<void> {
  await run.recordStep(metrics(number), timing(number), [episodeOf(`train/${number}/0`, { step: number })]);
}

function checkpoint(run: Run, number: number, keep = 2): Promise<unknown> {
  return run.recordCheckpoint(number, { keep, best: null }, async (folder) => {
    await fs.mkdir(path.join(folder, "shared"));
    await fs.writeFile(path.join(folder, "shared.optimizer"), String(number));
    return state(number);
  });
}

/** The run is closed again. */
async function opened(work: (run: Run) => Promise<unknown> = async () => {}): Promise<void> {
  await using run = await openRun(directory, recipe);
  await work(run);
}

/** Steps that were recorded, each with a checkpoint. */
function saved(...steps: readonly number[]): Promise<void> {
  return opened(async (run) => {
    for (const step of steps) {
      await recordStep(run, step);
      await checkpoint(run, step);
    }
  });
}

test("a run resumes from its last checkpoint; later records are truncated", async () => {
  {
    await using run = await openRun(directory, recipe);
    expect(run.checkpoint).toBeNull();
    for (const number of [1, 2]) await recordStep(run, number);
    await checkpoint(run, 2);
    for (const number of [2, 3]) await run.recordEvaluation(evaluation(number), timing(number));
    for (const number of [3, 4]) await recordStep(run, number);
  }
  await fs.appendFile(path.join(directory, "metrics.jsonl"), '{"schema_version":1,"st');
  await fs.mkdir(path.join(directory, "checkpoints", ".tmp-step-4-abcd"));
  await using run = await openRun(directory, recipe);
  expect(run.checkpoint?.state).toMatchObject(state(2));
  expect((await readMetrics(directory)).map((line) => line.step)).toEqual([1, 2]);
  expect((await run.evaluations()).map((line) => line.step)).toEqual([2]);
  expect((await run.timings()).map((line) => line.step)).toEqual([1, 2, 2]);
  expect((await readEpisodeIndex(directory)).map(({ id }) => id)).toEqual(["train/1/0", "train/2/0"]);
  expect(await fs.readdir(path.join(directory, "checkpoints"))).toEqual(["step-2"]);
});

const engineOf = (threads: string) => ({
  engine: `engine of ${threads}`,
  arithmetic: { kernels: "scalar", threads },
});

test("a change of engine is recorded, and returns the earlier engine", async () => {
  {
    await using run = await openRun(directory, recipe);
    expect(await run.recordEngine(engineOf("1"))).toBeNull();
    await recordStep(run, 1);
    await checkpoint(run, 1);
  }
  const first = { schema_version: 1, step: 0, ...engineOf("1") };
  for (const before of [null, null]) {
    await using run = await openRun(directory, recipe);
    expect(await run.recordEngine(engineOf("1"))).toBe(before);
  }
  expect(await readEngines(directory)).toEqual([first]);
  {
    await using run = await openRun(directory, recipe);
    expect(await run.recordEngine(engineOf("2"))).toEqual(first);
    await recordStep(run, 2);
    await checkpoint(run, 2);
  }
  expect(await readEngines(directory)).toEqual([first, { ...first, step: 1, ...engineOf("2") }]);
  // Rewinding to step 1 discards later results; the record of the engine change is kept.
  await fs.rm(path.join(directory, "checkpoints", "step-2"), { recursive: true });
  await using run = await openRun(directory, recipe);
  expect(await run.recordEngine(engineOf("1"))).toMatchObject({ step: 1, ...engineOf("2") });
});

test("a run without recorded steps forgets its engine", async () => {
  await opened((run) => run.recordEngine(engineOf("1")));
  await using run = await openRun(directory, "name: tiny\nseed: 2\n");
  expect(await run.recordEngine(engineOf("2"))).toBeNull();
  expect(await readEngines(directory)).toMatchObject([engineOf("2")]);
});

test("without a checkpoint the run starts over", async () => {
  await opened((run) => recordStep(run, 1));
  await using run = await openRun(directory, recipe);
  expect(run.checkpoint).toBeNull();
  expect(await readMetrics(directory)).toEqual([]);
});

test("a checkpoint that fails midway leaves nothing under its name", async () => {
  await using run = await openRun(directory, recipe);
  await recordStep(run, 1);
  const failing = run.recordCheckpoint(1, { keep: 2, best: null }, async (folder) => {
    await fs.writeFile(path.join(folder, "shared.optimizer"), "half");
    throw new Error("out of paper");
  });
  await expect(failing).rejects.toThrow("out of paper");
  expect(await checkpointSteps(run.layout.checkpoints)).toEqual([]);
});

test("only the newest checkpoints are kept", async () => {
  await using run = await openRun(directory, recipe);
  for (const number of [1, 2, 3, 10]) {
    await recordStep(run, number);
    await checkpoint(run, number, 2);
  }
  expect(await checkpointSteps(run.layout.checkpoints)).toEqual([3, 10]);
  expect(await fs.readdir(run.layout.checkpoints)).toHaveLength(2);
});

test("a finished run is unchanged", async () => {
  {
    await using run = await openRun(directory, recipe);
    await recordStep(run, 1);
    await run.recordResult(result);
  }
  await using run = await openRun(directory, recipe);
  expect(run.result).toEqual(result);
  expect(await readMetrics(directory)).toHaveLength(1);
});

test("another recipe, a folder that is not a run, and a second writer are rejected", async () => {
  await using run = await openRun(directory, recipe);
  await expect(openRun(directory, recipe)).rejects.toThrow("is being written by process");
  await run.recordStep(metrics(1), timing(1), []);
  await run.close();
  for (const words of ["", "description: |-\n  better\n\n  words\n"])
    await expect(openRun(directory, `name: tiny\n${words}seed: 2\n`)).rejects.toThrow(
      'recipe.yaml:2 has "seed: 1", now it is "seed: 2"',
    );
  await fs.writeFile(path.join(root, "thesis.txt"), "");
  await expect(openRun(root, recipe)).rejects.toThrow(/contains .* but no recipe.yaml/);
  expect((await fs.readdir(root)).toSorted()).toEqual(["thesis.txt", "tiny"]);
});

test("a run resumes with a reworded recipe, and keeps its original one", async () => {
  await opened((run) => run.recordStep(metrics(1), timing(1), []));
  const reworded = `description: better words\nexpected: { minutes: 3 }\n${recipe}`;
  await using again = await openRun(directory, reworded);
  expect(await fs.readFile(again.layout.recipe, "utf8")).toBe(recipe);
});

test("the folder of a run without recorded steps can be used by another recipe, without the models of the first", async () => {
  await opened((run) => fs.mkdir(path.join(run.layout.models, "nano"), { recursive: true }));
  const other = "name: tiny\nseed: 2\n";
  await using again = await openRun(directory, other);
  expect(await fs.readFile(again.layout.recipe, "utf8")).toBe(other);
  await expect(fs.stat(again.layout.models)).rejects.toThrow("ENOENT");
});

test("a file in the way of the folder is reported, and a folder that cannot be created is not retried for ever", async () => {
  await fs.writeFile(directory, "");
  await expect(openRun(directory, recipe)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining("a file is in the way") as string,
  });
  if (process.platform !== "linux") return;
  await expect(openRun("/proc/troupe/runs/tiny", recipe)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining("Cannot write /proc/troupe: no folder can be created there") as string,
  });
});

test("missing parent folders are created, also by two processes at once", async () => {
  const deep = path.join(directory, "a", "b");
  const runs = await Promise.all(["one", "two"].map((name) => openRun(path.join(deep, name), recipe)));
  for (const run of runs) await run.close();
  expect((await fs.readdir(deep)).toSorted()).toEqual(["one", "two"]);
});

test.runIf(process.platform === "linux")(
  "a full disk stops the run with a message and damages nothing",
  async () => {
    await using run = await openRun(directory, recipe);
    await fs.symlink("/dev/full", run.layout.metrics);
    await expect(recordStep(run, 1)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringContaining("the disk is full") as string,
    });
    await fs.rm(run.layout.metrics);
    await run.close();
    await using again = await openRun(directory, recipe);
    await recordStep(again, 1);
    expect(await readMetrics(directory)).toHaveLength(1);
  },
);

test("metrics that lost lines before a checkpoint are rejected", async () => {
  await opened(async (run) => {
    for (const number of [1, 2]) await recordStep(run, number);
    await checkpoint(run, 2);
  });
  await fs.writeFile(path.join(directory, "metrics.jsonl"), "");
  await expect(openRun(directory, recipe)).rejects.toThrow(
    "has 0 steps but the newest checkpoint is of step 2",
  );
});

test.each([
  ["state.json", "state.json is missing"],
  ["shared", "shared is missing"],
])("a checkpoint without %s is damaged", async (name, message) => {
  await saved(1);
  const folder = path.join(directory, "checkpoints", "step-1");
  expect((await readCheckpoint(folder)).state).toMatchObject(state(1));
  await fs.rm(path.join(folder, name), { recursive: true });
  await expect(openRun(directory, recipe)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining(message) as string,
  });
});

const outside = { kind: "snapshot", location: "..", version: 1, directory: "../../.." };
const reinforcement = { critics: {}, beginning: {}, sampledTokens: 1, tasks: 1 };

test.each([
  ["without policies", { policies: {} }, "state.json was changed"],
  ["of another step", { step: 1 }, "state.json is of step 1"],
  ["with a path that leads out of it", { policies: { shared: outside } }, "state.json was changed"],
  [
    "with a negative coefficient",
    { reinforcement: { ...reinforcement, klCoefficients: { shared: -1 } } },
    "state.json was changed",
  ],
  ["with another stage", { stage: "warm-start" }, "state.json was changed"],
])(
  "a checkpoint whose state was edited, %s, is damaged; the one before it is offered",
  async (_, change, problem) => {
    await saved(1, 2);
    const file = path.join(directory, "checkpoints", "step-2", "state.json");
    const written = JSON.parse(await fs.readFile(file, "utf8")) as object;
    await fs.writeFile(file, JSON.stringify({ ...written, ...change }));
    await expect(openRun(directory, recipe)).rejects.toThrow(
      `damaged: ${problem}. Remove that folder to resume from step-1.`,
    );
    // Written differently, it says the same.
    await fs.writeFile(file, JSON.stringify(written));
    await opened();
  },
);

test.each([
  ["was changed", (file: string) => fs.writeFile(file, "9")],
  ["is missing", (file: string) => fs.rm(file)],
])("a checkpoint in which a file %s is damaged; the one before it is offered", async (what, damage) => {
  await saved(1, 2);
  const folder = path.join(directory, "checkpoints", "step-2");
  await damage(path.join(folder, "shared.optimizer"));
  await expect(openRun(directory, recipe)).rejects.toThrow(
    `The checkpoint ${folder} is damaged: shared.optimizer ${what}. Remove that folder to resume from step-1.`,
  );
  await fs.rm(folder, { recursive: true });
  await opened(async (run) => expect(run.checkpoint?.state.step).toBe(1));
  await damage(path.join(directory, "checkpoints", "step-1", "shared.optimizer"));
  await expect(openRun(directory, recipe)).rejects.toThrow(
    "There is no earlier one; remove the run's folder to start over.",
  );
});

test("of an older checkpoint that is damaged, only the folder is in the way", async () => {
  await saved(1, 2);
  const { checkpoints } = layoutOf(directory);
  await fs.rm(path.join(checkpoints, "step-1", "shared.optimizer"));
  await expect(checkpointOf(checkpoints, 1)).rejects.toThrow(
    "step-1 is damaged: shared.optimizer is missing. Remove that folder.",
  );
});

test("evaluations that a checkpoint relies on can be neither removed nor repeated", async () => {
  {
    await using run = await openRun(directory, recipe);
    await recordStep(run, 1);
    await run.recordEvaluation(evaluation(1), timing(1));
    await recordStep(run, 2);
    await checkpoint(run, 2);
  }
  const file = path.join(directory, "evaluations.jsonl");
  const line = await fs.readFile(file, "utf8");
  await fs.writeFile(file, line + line);
  await expect(openRun(directory, recipe)).rejects.toThrow(
    `${file}:2 repeats the evaluation of line 1. Remove the line.`,
  );
  await fs.rm(file);
  await expect(openRun(directory, recipe)).rejects.toThrow(
    `${file} has 0 evaluations up to the newest checkpoint, which was written after 1: lines were removed.`,
  );
  await fs.writeFile(file, line);
  await using run = await openRun(directory, recipe);
  expect(await run.evaluations()).toEqual([evaluation(1)]);
});

test("steps that are repeated for want of a checkpoint are counted", async () => {
  {
    await using run = await openRun(directory, recipe);
    for (const step of [1, 2, 3]) await recordStep(run, step);
    await checkpoint(run, 3);
    await recordStep(run, 4);
  }
  await opened(async (run) => expect(run.repeated).toBe(1));
  await fs.rm(path.join(directory, "checkpoints"), { recursive: true });
  await using run = await openRun(directory, recipe);
  expect(run.repeated).toBe(3);
});

test("runs are listed with their state; damaged ones as such", async () => {
  const finish = async (name: string) => {
    await using run = await openRun(path.join(root, name), recipe);
    for (const step of [1, 2, 3]) await recordStep(run, step);
    await run.recordResult(result);
  };
  await finish("done");
  await finish("torn");
  await fs.writeFile(path.join(root, "torn", "result.json"), '{"schema_version":1');
  await finish("future");
  await fs.writeFile(path.join(root, "future", "result.json"), '{"schema_version":2}');
  await fs.mkdir(path.join(root, "empty"));
  await (await openRun(path.join(root, "stopped"), recipe)).close();
  const running = await openRun(path.join(root, "going"), recipe);
  const statuses = (await listRuns(root)).map((run) => [run.name, run.status]);
  expect(statuses).toEqual([
    ["done", "finished"],
    ["empty", "damaged"],
    ["future", "damaged"],
    ["going", "running"],
    ["stopped", "interrupted"],
    ["torn", "damaged"],
  ]);
  expect(await runFolders(root)).toEqual(statuses.map(([name = ""]) => path.join(root, name)));
  expect(await readResult(path.join(root, "done"))).toEqual(result);
  await expect(readResult(path.join(root, "future"))).rejects.toThrow("has schema_version 2");
  expect(await listRuns(path.join(root, "nowhere"))).toEqual([]);
  await running.close();
});

test.each([
  ["lost", ([one, , three]: readonly string[]) => [one, three], ":2 is of step 3; expected step 2"],
  ["lost at the beginning", ([, ...others]: readonly string[]) => others, ":1 is of step 2; expected step 1"],
  ["repeated", ([one, ...others]: readonly string[]) => [one, one, ...others], ":2 is of step 1"],
  ["out of order", ([one, two, three]: readonly string[]) => [two, one, three], ":1 is of step 2"],
])("a line of the metrics that is %s is named", async (_, edit, message) => {
  await using run = await openRun(directory, recipe);
  for (const step of [1, 2, 3]) await recordStep(run, step);
  const lines = (await fs.readFile(run.layout.metrics, "utf8")).trimEnd().split("\n");
  await fs.writeFile(run.layout.metrics, `${edit(lines).join("\n")}\n`);
  await expect(readMetrics(directory)).rejects.toThrow(`metrics.jsonl${message}`);
});

test("a record that Troupe did not write is named by file, line and field", async () => {
  await using run = await openRun(directory, recipe);
  await run.recordEvaluation(evaluation(1), timing(1));
  const { success: _, ...without } = evaluation(1);
  await fs.appendFile(run.layout.evaluations, `${JSON.stringify(without)}\n`);
  await expect(readEvaluations(directory)).rejects.toThrow(/evaluations\.jsonl:2 .*success/);
});

test("the timing of an evaluation that was not recorded is not kept, so that it is not there twice", async () => {
  const evaluated: Timing = { ...timing(0), what: "evaluation" };
  const second = { ...evaluated, step: 1 };
  await opened(async (run) => {
    await run.recordEvaluation(evaluation(0), evaluated);
    await recordStep(run, 1);
    await checkpoint(run, 1);
    await run.recordEvaluation(evaluation(1), second);
  });
  // As if killed between the two writes of another team's evaluation.
  await fs.appendFile(path.join(directory, "timings.jsonl"), `${JSON.stringify(second)}\n`);
  await using again = await openRun(directory, recipe);
  expect((await again.timings()).map(({ step, what }) => [step, what])).toEqual([
    [0, "evaluation"],
    [1, "reinforcement"],
    [1, "evaluation"],
  ]);
});

test.each(["", "just text", "- a list"])("a run whose recipe.yaml says %j is damaged", async (text) => {
  await fs.mkdir(directory, { recursive: true });
  await fs.writeFile(path.join(directory, "recipe.yaml"), text);
  await expect(readRecipe(directory)).rejects.toThrow(
    "recipe.yaml is damaged: it holds no recipe. Restore the file.",
  );
});

test.each(["checkpoints", "result.json", "metrics.jsonl", "recipe.yaml"])(
  "a run whose %s cannot be read is left as it is",
  async (name) => {
    await saved(1);
    await opened((run) => recordStep(run, 2));
    const kept = ["timings.jsonl", "episodes/index.jsonl"].map((one) => path.join(directory, one));
    const texts = () => Promise.all(kept.map((one) => fs.readFile(one, "utf8")));
    const before = await texts();
    const place = path.join(directory, name);
    await fs.rm(place, { recursive: true, force: true });
    // As on a disk that is not mounted, or one whose rights are missing.
    for (const target of [name, "gone"]) {
      await fs.symlink(target, place);
      await expect(openRun(directory, recipe)).rejects.toMatchObject({
        code: "bad_run",
        message: expect.stringContaining(`Cannot read ${place}`) as string,
      });
      expect(await texts()).toEqual(before);
      expect((await listRuns(root))[0]).toMatchObject({ status: "damaged" });
      await fs.rm(place);
    }
  },
);
