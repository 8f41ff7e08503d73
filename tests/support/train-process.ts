/**
 * A process that trains for a second in the folder `run` and may be killed. Arguments: when (killed.ts), and as JSON
 * `algorithm` with its options, `maxLag`, and `judge` for the options of a judge of the silent echo: without one, a scout with
 * an adapter and a planner with a whole model are trained.
 */
import { openEngine } from "../../src/engines/open.ts";
import { train } from "../../src/train/run.ts";
import { tinyRecipe } from "../../src/train/testing/tiny-recipe.ts";
import { changeCount, killedAt } from "./killed.ts";
import { echoJudge, silentRecipe } from "./silent-echo.ts";

interface Given {
  readonly algorithm: { readonly name: string };
  readonly maxLag?: number;
  readonly judge?: object;
}

function walking({ algorithm, maxLag = 0 }: Given) {
  const role = { prompt: "", maxTokens: 8 };
  return tinyRecipe({
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
    algorithm,
    warmStart: { steps: 4, demonstrationsPerStep: 8, learningRate: 0.003 },
    train: { steps: 6, tasksPerStep: 4, learningRate: 0.001, minibatches: 2, epochs: 2, maxLag },
    evaluation: { tasks: 6, every: 3, tasksDuring: 4 },
    checkpoint: { every: 2, keep: 2 },
  });
}

function judged({ algorithm: { name, ...options }, judge }: Given) {
  const failures = { retries: 0, limit: 0.5 };
  return silentRecipe({ steps: 5, judge: echoJudge("judge", judge), failures }, name, options);
}

const [, , when = "", text = ""] = process.argv;
const given = JSON.parse(text) as Given;
const onEvent = await killedAt(when);
const engine = openEngine({ threads: 1 });
await train({
  ...(given.judge === undefined ? walking(given) : judged(given)),
  directory: "run",
  engine,
  onEvent: (event) => {
    onEvent(event);
    if (event.type === "phase") console.log(event.phase);
  },
});
await engine.close();
console.log(changeCount());
