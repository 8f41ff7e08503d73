/**
 * Reinforcement alone must improve a team: real engine, real gradients. A scout and a planner, each with its own
 * policy, have two turns. The demonstrations of the warm start stop early, so that the team starts well below
 * what it can reach.
 *
 * Measured on 500 held-out boards per seed, sampled at temperature 1: a standard error of about 0.02 for each success, of
 * 0.03 for a gain and of 0.02 for the mean gain. In float32: a processor with units for bfloat16 would round
 * the operands of products, which is another training. After only 300 steps of warm start, the arithmetic decides what a
 * seed gains: the third 0.03 with AVX2, −0.04 with scalar kernels, 0.21 with operands rounded to bfloat16.
 */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openEngine } from "../src/engines/open.ts";
import type { Evaluation } from "../src/runs/records.ts";
import { mean } from "../src/statistics.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";
import { train } from "../src/train/run.ts";

const seeds = [1, 2];
let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-learning-"));
});
afterAll(() => fs.rm(root, { recursive: true }));

/** The team's success on held-out boards, before and after reinforcement. */
async function learn(
  seed: number,
): Promise<{ before: Evaluation | undefined; after: Evaluation | undefined }> {
  const nano = { model: { preset: "nano" } };
  const resolved = tinyRecipe({
    seed,
    environment: { name: "plan-path", size: 4, plan: "steps", demonstrations: { breakOff: 0.3 } },
    team: {
      roles: { scout: { policy: "scout", prompt: "" }, planner: { policy: "planner", prompt: "" } },
      phases: [["scout"], ["planner"]],
      turns: 2,
    },
    policies: { scout: nano, planner: nano },
    algorithm: { name: "at-grpo", samples: 8 },
    warmStart: { steps: 600, demonstrationsPerStep: 32, learningRate: 0.005, schedule: "cosine" },
    train: { steps: 50, tasksPerStep: 32, learningRate: 0.001, minibatches: 2 },
    evaluation: { tasks: 500, temperature: 1 },
    checkpoint: { every: 1000 },
  });
  const engine = openEngine({ threads: 2, precision: "float32" });
  const outcome = await train({ ...resolved, directory: path.join(root, String(seed)), engine });
  await engine.close();
  const table = outcome.status === "finished" ? outcome.result.table : [];
  const at = (moment: Evaluation["moment"]) => table.find((row) => row.moment === moment);
  return { before: at("before"), after: at("after") };
}

test("a team learns by reinforcement alone", async () => {
  const gains: number[] = [];
  for (const seed of seeds) {
    const { before, after } = await learn(seed);
    gains.push((after?.success ?? Number.NaN) - (before?.success ?? Number.NaN));
    // Much of the gain is in the second turn: the team continues from where its first plan ended.
    const [first = Number.NaN, second = Number.NaN] = after?.successByTurn ?? [];
    expect(second - first).toBeGreaterThan(0.1);
  }
  // Measured in float32 with AVX2, of 1,000 boards: 0.19, 0.20. Sums in another order (other kernels) give other numbers.
  for (const gain of gains) expect(gain).toBeGreaterThan(0.05);
  expect(mean(gains)).toBeGreaterThan(0.1);
}, 900_000);
