import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { recipeSchema } from "../../recipes/schema.ts";
import { resultSchema } from "../../runs/records.ts";
import { runCommand } from "../testing/command.ts";
import { folderWith, plannerRecipe } from "../testing/folder.ts";
import { scheduleNote } from "./run-name.ts";

const settings = { steps: 2, tasksPerStep: 2, learningRate: 0.001, schedule: "constant" };
const cwd = folderWith({
  "small.yaml": plannerRecipe("small", { train: settings, checkpoint: { every: 1 } }),
  "warm.yaml": "name: warm\nextends: small.yaml\ntrain: { steps: 6, warmupSteps: 3 }\n",
});

const train = (...args: readonly string[]) => runCommand(["train", "small.yaml", ...args], { cwd });
const rejected = async (...args: readonly string[]) => (await train(...args, "--extend")).stderr;
const read = (run: string, file: string) => readFile(join(cwd, "runs", run, file), "utf8");

it("a finished run with more steps ends like a run of that length, if the schedule is constant", async () => {
  expect(await train()).toMatchObject({ code: 0 });
  const refused = await train("train.steps=4");
  expect(refused.stderr).toContain("or --extend to train this run further");
  const extended = await train("train.steps=4", "--extend");
  expect(extended).toMatchObject({ code: 0 });
  expect(extended.stderr).toContain(
    "extended from 2 to 4 steps of reinforcement; the learning rate stays constant",
  );
  expect(extended.stderr).toContain("resumed after step 2\n");
  await train("train.steps=4", "--run", "whole");
  expect(await read("small", "metrics.jsonl")).toBe(await read("whole", "metrics.jsonl"));
  const [one, whole] = await Promise.all(
    ["small", "whole"].map(async (run) => resultSchema.parse(JSON.parse(await read(run, "result.json")))),
  );
  expect(one?.table).toEqual(whole?.table);
  expect(await read("small", "recipe.yaml")).toMatch(/^# extended from 2 to 4 steps/);
});

it("only the number of steps may change, and it must grow", async () => {
  expect(await rejected("train.steps=6", "seed=2")).toContain("differs from this recipe in seed");
  expect(await rejected("train.steps=3")).toContain("cannot be extended to 3: use more steps");
  expect(await rejected("train.steps=4")).toContain("has its 4 steps of reinforcement already");
  expect(await rejected("--run", "nothing")).toContain("there is no run runs/nothing to extend");
});

it("a warm-up that few steps had shortened stays, unless the command gives one", async () => {
  const warm = (...args: readonly string[]) => runCommand(["train", "warm.yaml", ...args], { cwd });
  expect(await warm("train.steps=2")).toMatchObject({ code: 0 });
  expect((await warm("train.steps=4")).stderr).toContain("or --extend to train this run further");
  expect((await warm("train.steps=1", "--extend")).stderr).toContain(
    "cannot be extended to 1: use more steps",
  );
  const chosen = await warm("train.steps=4", "train.warmupSteps=3", "--extend");
  expect(chosen.stderr).toContain("differs from this recipe in train.warmupSteps; --extend changes only");
  const extended = await warm("train.steps=4", "--extend");
  expect(extended.stderr).toContain(
    "extended from 2 to 4 steps of reinforcement; the warm-up is that of the run, 1 step, not the recipe's 3; the learning",
  );
  expect(extended.code).toBe(0);
  await warm("train.steps=4", "train.warmupSteps=1", "--run", "whole-warm");
  expect(await read("warm", "metrics.jsonl")).toBe(await read("whole-warm", "metrics.jsonl"));
  // As after an interruption: the same command.
  expect((await warm("train.steps=4", "--extend")).stderr).toContain(
    "has its 4 steps of reinforcement already",
  );
  await rm(join(cwd, "runs", "warm", "result.json"));
  expect(await warm("train.steps=4", "--extend")).toMatchObject({ code: 0 });
});

it("a falling learning rate is stated before and after the extension, also of a run that was interrupted", () => {
  const { train: falling } = recipeSchema.pick({ train: true }).parse({
    train: { steps: 20, tasksPerStep: 1, learningRate: 0.1, schedule: "linear" },
  });
  // By hand, down to a tenth: 0.1 × 0.1 in step 10 of 10, 0.1 (0.1 + 0.9 (1 − 10 / 19)) in step 11 of 20.
  expect(scheduleNote(falling, 10, 10)).toBe(
    "the linear schedule now spans 20 steps: the learning rate is 0.0526 in step 11 after 0.0100 in step 10, " +
      "so the result differs from that of a run started with 20 steps",
  );
  // By hand: 0.1 (0.1 + 0.9 (1 − 3 / 9)) in step 4 of 10, 0.1 (0.1 + 0.9 (1 − 4 / 19)) in step 5 of 20.
  expect(scheduleNote(falling, 10, 4)).toContain("is 0.0811 in step 5 after 0.0700 in step 4,");
  expect(scheduleNote(falling, 10, 0)).toBe("none of them was done, so the run is one of that length");
});

it("with a lag the step after the end of a run is sampled from the latest weights, which is stated", async () => {
  const lagging = ["train.maxLag=1", "--run", "lagging"];
  await train(...lagging);
  const { stderr } = await train(...lagging, "train.steps=4", "--extend");
  expect(stderr).toContain(
    "the learning rate stays constant; step 3 is sampled after step 2 instead of during it, so the result differs from " +
      "that of a run started with 4 steps",
  );
});
