/**
 * Failing services. A run whose engine and environment fail a fifth of all calls ends like one that never fails: retries get
 * the same keys, so that no sample is lost or counted twice. Permanent failures are dropped and counted; too many stop the run.
 */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import type { Engine } from "../src/engines/engine.ts";
import { faultyEngine, TinyEngine } from "../src/engines/testing/tiny-engine.ts";
import type { Context, Environment } from "../src/environments/environment.ts";
import { ServiceError } from "../src/errors.ts";
import { drawFloat, generatorOf, rootKey } from "../src/random.ts";
import { readEvaluations, readMetrics } from "../src/runs/read.ts";
import { HashEngine } from "../src/train/testing/hash-engine.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";
import { tinyRecipe, wordsOf } from "../src/train/testing/tiny-recipe.ts";
import { train, type TrainOutcome } from "../src/train/run.ts";
import { echo } from "./support/echo.ts";

let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-failures-"));
});
afterAll(() => fs.rm(root, { recursive: true }));

/** An environment whose calls fail if `fails` says so. */
function failing(environment: Environment, fails: (context: Context) => boolean): Environment {
  const check = (context: Context): void => {
    if (fails(context)) throw new ServiceError("the service did not answer");
  };
  return {
    ...environment,
    start: async (task, context) => (check(context), environment.start(task, context)),
    step: async (state, replies, context) => (check(context), environment.step(state, replies, context)),
  };
}

const role = { policy: "shared", prompt: "" };

function recipeWith(failures: object, steps = 4) {
  return tinyRecipe({
    team: { roles: { left: role, right: role }, phases: [["left", "right"]], turns: 2 },
    warmStart: undefined,
    train: { steps, tasksPerStep: 8, learningRate: 0.003 },
    evaluation: { tasks: 8, every: 2 },
    checkpoint: { every: 2 },
    failures: { firstDelay: 0, longestDelay: 0, ...failures },
  }).recipe;
}

const hashEngine = () =>
  new HashEngine({ vocabularySize: wordsOf({ environment: echo }).length + 6, endToken: 2 });

async function trained(name: string, environment: Environment, recipe: ReturnType<typeof recipeWith>) {
  const directory = path.join(root, name);
  const algorithm = algorithmFrom("at-grpo", { samples: 4 });
  const outcome: TrainOutcome = await train({
    recipe,
    environment,
    algorithm,
    directory,
    engine: hashEngine(),
  });
  return { outcome, metrics: await readMetrics(directory), evaluations: await readEvaluations(directory) };
}

/** PPO with a critic and a reference, in two minibatches and epochs: every verb, in every order of a run. */
async function recorded(name: string, environment: Environment, engine: Engine) {
  const stage = { steps: 3, tasksPerStep: 4, learningRate: 0.03, minibatches: 2, epochs: 2 };
  const recipe = { ...recipeWith({ retries: 200, limit: 0 }), train: { ...recipeWith({}).train, ...stage } };
  const kl = { where: "loss", coefficient: 0.01 };
  const algorithm = algorithmFrom("ppo", { samples: 4, kl });
  const directory = path.join(root, name);
  await train({ recipe, environment, algorithm, directory, engine });
  await engine.close();
  for (const { rollout } of await readMetrics(directory)) expect(rollout?.episodes).toBe(4);
  return recordsOf(directory);
}

describe("services that fail", () => {
  it("a fifth of all calls: no sample is lost or counted twice, and weights and records are the same, bit for bit", async () => {
    const expected = await recorded("whole", echo, new TinyEngine());
    const generator = generatorOf(rootKey(7));
    const failed = { engine: 0, environment: 0 };
    const environment = failing(echo, () => {
      const fails = drawFloat(generator) < 0.2;
      if (fails) failed.environment += 1;
      return fails;
    });
    const onFailure = (): void => void (failed.engine += 1);
    const engine = faultyEngine(new TinyEngine(), { failing: 0.2, delay: 3, onFailure });
    const found = await recorded("faulty", environment, engine);
    expect(Object.keys(found)).toEqual(Object.keys(expected));
    expect(Object.keys(found)).toContain(path.join("checkpoints", "step-3", "shared.json"));
    expect(Object.keys(found).filter((name) => found[name] !== expected[name])).toEqual([]);
    expect(failed.engine).toBeGreaterThan(20);
    expect(failed.environment).toBeGreaterThan(20);
  });

  it("for good: episodes are lost, and counted", async () => {
    // Whether a call fails depends on its key: the same calls fail in every run.
    const environment = failing(echo, ({ key }) => drawFloat(generatorOf(key)) < 0.01);
    const recipe = recipeWith({ retries: 0, limit: 0.9 });
    const { outcome, metrics, evaluations } = await trained("dropped", environment, recipe);
    const lost = metrics.map(({ rollout }) => rollout?.failed ?? 0);
    const total = lost.reduce((sum, each) => sum + each, 0);
    const unmeasured = evaluations.reduce((sum, { failed }) => sum + (failed ?? 0), 0);
    expect(total).toBeGreaterThan(0);
    metrics.forEach(({ rollout }, step) => expect(rollout?.episodes).toBe(8 - (lost[step] ?? 0)));
    expect(outcome).toMatchObject({ status: "finished", result: { failedEpisodes: total + unmeasured } });
  });

  it("above the limit: the run stops, and resumes as if nothing had happened", async () => {
    const plain = await trained("limited", echo, recipeWith({ retries: 0 }));
    let isDown = false;
    const running = train({
      recipe: recipeWith({ retries: 0 }),
      environment: { ...echo, step: (...call) => (isDown ? failing(echo, () => true) : echo).step(...call) },
      algorithm: algorithmFrom("at-grpo", { samples: 4 }),
      directory: path.join(root, "stopped"),
      engine: hashEngine(),
      onEvent: (event) => {
        if (event.type === "step" && event.metrics.step === 3) isDown = true;
      },
    });
    await expect(running).rejects.toMatchObject({
      code: "service",
      message: expect.stringMatching(
        /did not answer.*So all 8 episodes failed.*stopped in step 4.*resumes after step 3/s,
      ) as string,
    });
    const resumed = await trained("stopped", echo, recipeWith({ retries: 0 }));
    expect(resumed.metrics).toEqual(plain.metrics);
    expect(resumed.evaluations).toEqual(plain.evaluations);
  });
});
