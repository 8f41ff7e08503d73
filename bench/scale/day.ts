/** A long training on a simulated engine, in compressed time: does memory grow, and what share of the time is ours? */
import fs from "node:fs/promises";
import path from "node:path";
import { resolveRecipe } from "../../src/recipes/resolve.ts";
import { train } from "../../src/train/train.ts";
import type { Tokenizer } from "../../src/text/tokenizer.ts";
import { replyBank } from "./replies.ts";
import { SimulatedEngine, type Service } from "./simulated-engine.ts";
import { heapMegabytes, spent } from "./spent.ts";

export interface LongRun {
  readonly steps: number;
  readonly actions: number;
  readonly simulatedHours: number;
  /** Processor time as a share of the simulated time. */
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

/** @param folder has `model`, a directory with the tokenizer */
export async function measureDay(
  folder: string,
  tokenizer: Tokenizer,
  { steps, speed }: { readonly steps: number; readonly speed: number },
): Promise<LongRun> {
  const file = path.join(folder, "scale.yaml");
  const policies = { shared: { model: { path: path.join(folder, "model") } } };
  await fs.writeFile(file, JSON.stringify({ ...recipe, policies, train: { ...recipe.train, steps } }));
  const resolved = await resolveRecipe(file, []);
  const replies = replyBank(tokenizer, 200, 400);
  const engine = new SimulatedEngine({ service, speed, replies, vocabularySize: tokenizer.vocabularySize });
  const heap: number[] = [];
  const onEvent = (event: { readonly type: string; readonly metrics?: { readonly step: number } }): void => {
    if (
      event.type === "step" &&
      event.metrics !== undefined &&
      event.metrics.step % Math.ceil(steps / 10) === 0
    )
      heap.push(Math.round(heapMegabytes() * 10) / 10);
  };
  const directory = path.join(folder, "run");
  const { seconds, cpuSeconds } = await spent(() => train({ ...resolved, directory, engine, onEvent }));
  const simulatedSeconds = seconds * speed;
  return {
    steps,
    actions: engine.answered.sequences,
    simulatedHours: simulatedSeconds / 3600,
    share: cpuSeconds / simulatedSeconds,
    heapMegabytes: heap,
  };
}
