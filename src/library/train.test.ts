/** An engine is used for one run after the other; mistakes in what a program passes are named. */
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { evaluate, openEngine, resolveRecipe, train } from "../index.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { HashEngine } from "../train/testing/hash-engine.ts";
import { tinyRecipe } from "../train/testing/tiny-recipe.ts";
import { listening } from "./train.ts";

const small = [
  "warmStart=null",
  "train.steps=1",
  "train.tasksPerStep=1",
  "train.minibatches=1",
  "evaluation={tasks: 2, compare: null}",
  "environment.size=5",
  "policies.scout={model: {preset: nano}}",
  "policies.planner={model: {preset: nano}}",
];

it("an engine trains and evaluates again, also after a run that failed", { timeout: 120_000 }, async () => {
  const folder = temporaryFolder();
  const engine = openEngine({ threads: 1 });
  // Roles are called like their policies.
  const resolved = await resolveRecipe("plan-path-per-role", small);
  const run = (name: string) => path.join(folder, name);
  const failing = train({
    ...resolved,
    directory: run("failed"),
    engine,
    onEvent: () => {
      throw new Error("own");
    },
  });
  await expect(failing).rejects.toThrow("own");
  for (const name of ["first", "second"]) {
    expect((await train({ ...resolved, directory: run(name), engine })).status).toBe("finished");
    expect((await evaluate({ directory: run(name), engine, tasks: 1 })).scores.tasks).toBe(1);
  }
  await engine.close();
});

const resolved = tinyRecipe();
const setting = {
  ...resolved,
  directory: path.join(temporaryFolder(), "run"),
  engine: new HashEngine({ vocabularySize: 50, endToken: 2 }),
  cancel: AbortSignal.abort(),
};

it("names a misspelled option", async () => {
  const misspelled = { ...setting, onevent: () => {} };
  await expect(train(misspelled)).rejects.toMatchObject({
    code: "bad_arguments",
    message: expect.stringContaining("onevent") as string,
  });
});

it("names a default that a recipe lacks", async () => {
  const { evaluation: _, ...recipe } = resolved.recipe;
  await expect(train({ ...setting, recipe: recipe as typeof resolved.recipe })).rejects.toMatchObject({
    code: "bad_arguments",
    message: "options.recipe.evaluation: missing; pass a recipe of resolveRecipe.",
  });
});

it.each([{ tasks: 0 }, { samples: 0.5 }, { temperature: Number.NaN }, { sample: 2 }])(
  "an evaluation with %o is rejected",
  async (wrong) => {
    const { directory, engine } = setting;
    await expect(evaluate({ directory, engine, ...wrong })).rejects.toMatchObject({
      code: "bad_arguments",
      message: expect.stringContaining(Object.keys(wrong)[0] ?? "") as string,
    });
  },
);

const event = { type: "phase", phase: "saving" } as const;

it("an async listener's rejection is thrown at the next event, and at the end", async () => {
  const { onEvent, end } = listening(async () => {
    throw new Error("mine");
  });
  onEvent(event);
  await setImmediate();
  expect(() => onEvent(event)).toThrow("mine");
  expect(end).toThrow("mine");
});

it("a listener's own error is thrown at once", () => {
  const { onEvent } = listening(() => {
    throw new Error("mine");
  });
  expect(() => onEvent(event)).toThrow("mine");
});

it("a listener that succeeds is asked for every event", async () => {
  let count = 0;
  const { onEvent, end } = listening(async () => void count++);
  onEvent(event);
  await setImmediate();
  onEvent(event);
  end();
  expect(count).toBe(2);
});
