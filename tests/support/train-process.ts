/**
 * A process that trains a recipe for a second or two in the folder `run` and may be killed. Arguments: at which disk
 * write (0: never), an algorithm with its options as JSON, and `train.maxLag`.
 */
import { openEngine } from "../../src/engines/open.ts";
import { tinyRecipe } from "../../src/train/testing/tiny-recipe.ts";
import { train } from "../../src/train/run.ts";
import { changeCount, killAtChange } from "./killed-at-write.ts";

const [, , killAt = "0", algorithm = '{"name": "at-grpo", "samples": 3}', maxLag = "0"] = process.argv;
const role = { prompt: "", maxTokens: 16 };
const resolved = tinyRecipe({
  environment: { name: "plan-path", size: 5 },
  team: {
    roles: { scout: { ...role, policy: "adapter" }, planner: { ...role, policy: "whole" } },
    phases: [["scout"], ["planner"]],
    turns: 2,
  },
  policies: {
    adapter: { model: { preset: "nano" }, adapter: { rank: 4 } },
    whole: { model: { preset: "nano" } },
  },
  algorithm: JSON.parse(algorithm) as { name: string },
  warmStart: { steps: 4, demonstrationsPerStep: 16, learningRate: 0.003 },
  train: {
    steps: 6,
    tasksPerStep: 8,
    learningRate: 0.001,
    minibatches: 2,
    epochs: 2,
    maxLag: Number(maxLag),
  },
  evaluation: { tasks: 20, every: 3, tasksDuring: 10 },
  checkpoint: { every: 2, keep: 2 },
});

await killAtChange(Number(killAt));
const engine = openEngine({ threads: 2 });
const outcome = await train({
  ...resolved,
  directory: "run",
  engine,
  onEvent: (event) => event.type === "phase" && console.log(event.phase),
});
await engine.close();
console.log(JSON.stringify({ status: outcome.status, changes: changeCount() }));
