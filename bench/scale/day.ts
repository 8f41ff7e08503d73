/** A long training on a simulated engine, in compressed time: does memory grow, and what share of the time is ours? */
import fs from "node:fs/promises";
import path from "node:path";
import { resolveRecipe } from "../../src/recipes/resolve.ts";
import type { TrainEvent } from "../../src/train/events.ts";
import { train } from "../../src/train/run.ts";
import type { Tokenizer } from "../../src/text/tokenizer.ts";
import { SimulatedEngine, type Service } from "./simulated-engine.ts";
import { heapMegabytes, spent } from "./spent.ts";

export interface LongRun {
  readonly steps: number;
  readonly actions: number;
  /** That the server needs for it. */
  readonly simulatedHours: number;
  /** Processor time as a share of that. */
  readonly share: number;
  /** In use after garbage collection, at tenths of the run. */
  readonly heapMegabytes: readonly number[];
}

/** A quarter of a machine, so that a day is fewer actions. */
const service: Service = { capacity: 7500, perSequence: 60, firstToken: 0.3, training: 10_000, update: 2 };

const recipe = {
  name: "scale",
  environment: { name: "plan-path", size: 10 },
  team: {
    roles: { scout: { policy: "shared", maxTokens: 2048 }, planner: { policy: "shared", maxTokens: 2048 } },
    phases: [["scout"], ["planner"]],
    turns: 4,
  },
  algorithm: { name: "at-grpo", samples: 8 },
  train: { tasksPerStep: 16, learningRate: 0.00001 },
  evaluation: { tasks: 20, every: 100 },
  checkpoint: { every: 50 },
};

export interface LongWork {
  readonly folder: string;
  readonly model: string;
  readonly tokenizer: Tokenizer;
  readonly replies: readonly Int32Array[];
  readonly steps: number;
  /** Simulated seconds in a second. */
  readonly speed: number;
}

export async function measureDay({
  folder,
  model,
  tokenizer,
  replies,
  steps,
  speed,
}: LongWork): Promise<LongRun> {
  const file = path.join(folder, "day.yaml");
  const policies = { shared: { model: { path: model } } };
  await fs.writeFile(file, JSON.stringify({ ...recipe, policies, train: { ...recipe.train, steps } }));
  const resolved = await resolveRecipe(file, []);
  const { vocabularySize } = tokenizer;
  const engine = new SimulatedEngine({ service, speed, replies, vocabularySize });
  const heap: number[] = [];
  const onEvent = (event: TrainEvent): void => {
    if (event.type === "step" && event.metrics.step % Math.ceil(steps / 10) === 0) heap.push(heapMegabytes());
  };
  const directory = path.join(folder, "day");
  const { cpuSeconds } = await spent(() => train({ ...resolved, directory, engine, onEvent }));
  return {
    steps,
    actions: engine.answered.sequences,
    simulatedHours: engine.busySeconds / 3600,
    share: cpuSeconds / engine.busySeconds,
    heapMegabytes: heap,
  };
}
