/** A run whose engine and environment fail a fifth of all calls ends like the run without failures. */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import type { Engine } from "../src/engines/engine.ts";
import { faultyEngine, TinyEngine } from "../src/engines/testing/tiny-engine.ts";
import type { Environment } from "../src/environments/environment.ts";
import { ServiceError } from "../src/errors.ts";
import { drawFloat, generatorOf, rootKey } from "../src/random.ts";
import { readMetrics } from "../src/runs/read.ts";
import { train } from "../src/train/run.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";
import { echo } from "./support/echo.ts";

let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-engine-failures-"));
});
afterAll(() => fs.rm(root, { recursive: true }));

/** Starting an episode and its steps fail randomly. */
function faulty(
  environment: Environment,
  failing: number,
): { environment: Environment; failed: () => number } {
  const generator = generatorOf(rootKey(7));
  let failed = 0;
  const orFail = <T>(work: () => T): T => {
    if (drawFloat(generator) >= failing) return work();
    failed += 1;
    throw new ServiceError("the sandbox is gone");
  };
  return {
    environment: {
      ...environment,
      start: (...given) => orFail(() => environment.start(...given)),
      step: (...given) => orFail(() => environment.step(...given)),
    },
    failed: () => failed,
  };
}

/** PPO with a critic and a reference, in two minibatches and epochs: every verb, in every order of a run. */
async function trainIn(name: string, environment: Environment, engine: Engine): Promise<string> {
  const role = { policy: "shared", prompt: "" };
  const { recipe } = tinyRecipe({
    team: { roles: { left: role, right: role }, phases: [["left", "right"]], turns: 2 },
    warmStart: undefined,
    train: { steps: 3, tasksPerStep: 4, learningRate: 0.03, minibatches: 2, epochs: 2 },
    evaluation: { tasks: 4, every: 2 },
    failures: { retries: 200, firstDelay: 0, longestDelay: 0, limit: 0 },
  });
  const kl = { where: "loss", coefficient: 0.01 };
  const algorithm = algorithmFrom("ppo", { samples: 4, kl });
  const directory = path.join(root, name);
  await train({ recipe, environment, algorithm, directory, engine });
  await engine.close();
  return directory;
}

test("no sample is lost or counted twice, and weights and records are the same, bit for bit", async () => {
  const expected = await recordsOf(await trainIn("whole", echo, new TinyEngine()));
  const environment = faulty(echo, 0.2);
  let failed = 0;
  const engine = faultyEngine(new TinyEngine(), { failing: 0.2, delay: 3, onFailure: () => (failed += 1) });
  const directory = await trainIn("faulty", environment.environment, engine);
  const found = await recordsOf(directory);
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  expect(Object.keys(found)).toContain(path.join("checkpoints", "step-3", "shared.json"));
  expect(Object.keys(found).filter((name) => found[name] !== expected[name])).toEqual([]);
  for (const { rollout } of await readMetrics(directory)) expect(rollout?.episodes).toBe(4);
  expect(failed).toBeGreaterThan(20);
  expect(environment.failed()).toBeGreaterThan(20);
}, 60_000);
