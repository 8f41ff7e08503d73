/**
 * Failing services. An environment that fails a fifth of its calls trains like one that never fails: retries get the
 * same keys, so that no sample is lost or counted twice. Permanent failures are dropped and counted; too many stop the
 * run.
 */
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { openEngine } from "../src/engines/open.ts";
import type { Context, Environment } from "../src/environments/environment.ts";
import { ServiceError } from "../src/errors.ts";
import { drawFloat, generatorOf } from "../src/random.ts";
import { readEvaluations, readMetrics } from "../src/runs/read.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";
import { train, type TrainOutcome } from "../src/train/run.ts";
import { echo } from "./support/echo.ts";

let root = "";
beforeAll(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-failures-"));
});
afterAll(() => fs.rm(root, { recursive: true }));

interface Faults {
  /** Share of the calls that fail. */
  readonly share: number;
  /** How often a failing call fails: later tries succeed. */
  readonly times?: number;
  calls: number;
}

/** Whether a call fails depends on its key: the same calls fail in every run. */
function faulty(faults: Faults): Environment {
  const tries = new Map<string, number>();
  const fail = ({ key }: Context): void => {
    const name = `${key.high} ${key.low}`;
    const before = tries.get(name) ?? 0;
    tries.set(name, before + 1);
    if (drawFloat(generatorOf(key)) >= faults.share || before >= (faults.times ?? 1)) return;
    faults.calls++;
    throw new ServiceError("the service did not answer");
  };
  return {
    ...echo,
    start: async (task, context) => (fail(context), echo.start(task, context)),
    step: async (state, replies, context) => (fail(context), echo.step(state, replies, context)),
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

async function trained(name: string, environment: Environment, recipe: ReturnType<typeof recipeWith>) {
  const directory = path.join(root, name);
  const engine = openEngine({ threads: 1 });
  const algorithm = algorithmFrom("at-grpo", { samples: 4 });
  try {
    const outcome: TrainOutcome = await train({ recipe, environment, algorithm, directory, engine });
    return { outcome, metrics: await readMetrics(directory), evaluations: await readEvaluations(directory) };
  } finally {
    await engine.close();
  }
}

describe("an environment whose services fail a fifth of their calls", () => {
  it("trains, with retries, like one that never fails", async () => {
    const faults: Faults = { share: 0.2, times: 2, calls: 0 };
    const plain = await trained("plain", echo, recipeWith({}));
    const retried = await trained("retried", faulty(faults), recipeWith({}));
    expect(faults.calls).toBeGreaterThan(100);
    expect(retried.metrics).toEqual(plain.metrics);
    expect(retried.evaluations).toEqual(plain.evaluations);
  });

  it("loses episodes without retries, and counts them", async () => {
    const faults: Faults = { share: 0.01, times: Infinity, calls: 0 };
    const { outcome, metrics, evaluations } = await trained(
      "dropped",
      faulty(faults),
      recipeWith({ retries: 0, limit: 0.9 }),
    );
    const lost = metrics.map(({ rollout }) => rollout?.failed ?? 0);
    const total = lost.reduce((sum, each) => sum + each, 0);
    const unmeasured = evaluations.reduce((sum, { failed }) => sum + (failed ?? 0), 0);
    expect(total).toBeGreaterThan(0);
    metrics.forEach(({ rollout }, step) => expect(rollout?.episodes).toBe(8 - (lost[step] ?? 0)));
    expect(outcome).toMatchObject({ status: "finished", result: { failedEpisodes: total + unmeasured } });
  });

  it("stops above the limit, and resumes as if nothing had happened", async () => {
    const plain = await trained("whole", echo, recipeWith({ retries: 0 }));
    let isDown = false;
    const failing = faulty({ share: 1, times: Infinity, calls: 0 });
    const switching: Environment = {
      ...echo,
      step: (...call) => (isDown ? failing : echo).step(...call),
    };
    const directory = path.join(root, "stopped");
    const engine = openEngine({ threads: 1 });
    const running = train({
      recipe: recipeWith({ retries: 0 }),
      environment: switching,
      algorithm: algorithmFrom("at-grpo", { samples: 4 }),
      directory,
      engine,
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
    await engine.close();
    const resumed = await trained("stopped", echo, recipeWith({ retries: 0 }));
    expect(resumed.metrics).toEqual(plain.metrics);
    expect(resumed.evaluations).toEqual(plain.evaluations);
  });
});
