/** An engine is used for one run after the other. */
import path from "node:path";
import { expect, it } from "vitest";
import { evaluate, openEngine, resolveRecipe, train } from "../index.ts";
import { temporaryFolder } from "../models/test-model.ts";

const small = [
  "warmStart=null",
  "train.steps=1",
  "train.tasksPerStep=1",
  "train.minibatches=1",
  "evaluation.tasks=2",
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
