import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { latestCheckpoint } from "../runs/checkpoints.ts";
import { readEpisodeIndex } from "../runs/read-episodes.ts";
import { readMetrics } from "../runs/read.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { HashEngine } from "./testing/hash-engine.ts";
import { recordsOf } from "./testing/records-of.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { train } from "./run.ts";
import { mean } from "../statistics.ts";

let root = "";
beforeEach(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-companions-"));
});
afterEach(() => fs.rm(root, { recursive: true }));

const at = (name: string) => path.join(root, name);

function recipeOf(algorithm: RecipeInput["algorithm"], changes: Partial<RecipeInput> = {}) {
  return tinyRecipe({ algorithm, evaluation: { tasks: 2 }, checkpoint: { every: 2, keep: 1 }, ...changes });
}

/** Trains until the stage's step `until`, or to the end. Returns the engine with its weights. */
async function trainIn(
  name: string,
  resolved: ReturnType<typeof recipeOf>,
  until = Infinity,
): Promise<HashEngine> {
  const vocabularySize = wordsOf(resolved).length + 6;
  const calls: string[] = [];
  const engine = new HashEngine({
    vocabularySize,
    endToken: 2,
    onCall: (verb, policy) => calls.push(`${verb} ${policy}`),
  });
  const stop = new AbortController();
  await train({
    ...resolved,
    directory: at(name),
    engine,
    stop: stop.signal,
    onEvent: (event) => event.type === "step" && event.metrics.step >= until && stop.abort(),
  });
  return Object.assign(engine, { calls });
}

function weightsOf({ policies }: HashEngine): (readonly [string, number])[] {
  return [...policies].map(([name, { weights }]) => [name, weights]);
}

const adaptive = { coefficient: 0.1, target: 0.5, horizon: 100 };
const rows: Record<string, RecipeInput["algorithm"]> = {
  "critics per role and adaptive KL in the reward": {
    name: "ppo",
    samples: 2,
    kl: { where: "reward", ...adaptive },
    criticEpochs: 2,
    valueClip: 0.2,
  },
  "a central critic": { name: "maac", samples: 2 },
  "adaptive KL in the loss and dynamic sampling": {
    name: "grpo",
    samples: 2,
    dynamicSampling: true,
    refills: 2,
    kl: { where: "loss", ...adaptive },
  },
  "a moving baseline of each role": { name: "reinforce", samples: 2, baseline: "moving", reward: "rewards" },
};

test.each(Object.keys(rows))("%s: stopped after any step and resumed, a run ends the same", async (row) => {
  const resolved = recipeOf(rows[row] as RecipeInput["algorithm"]);
  const whole = await trainIn("whole", resolved);
  let parts = whole;
  for (let step = 1; step <= 7; step++) parts = await trainIn("parts", resolved, step);
  await trainIn("parts", resolved);
  expect(weightsOf(parts)).toEqual(weightsOf(whole));
  expect(await recordsOf(at("parts"))).toEqual(await recordsOf(at("whole")));
});

const preset = { preset: "nano" } as const;

test.each([
  ["a whole model", { model: preset }],
  ["an adapter", { model: preset, adapter: { rank: 4, alpha: 8 } }],
])(
  "the reference of %s is the policy at the start of reinforcement, and never changes",
  async (_, shared) => {
    const kl = { where: "loss", coefficient: 0.1 };
    const resolved = recipeOf({ name: "grpo", samples: 2, kl }, { policies: { shared } });
    const begun = await trainIn("run", resolved, 3);
    const warm = begun.policies.get("shared")?.weights;
    expect(begun.policies.has("reference-shared")).toBe(false);
    const ended = await trainIn("run", resolved);
    expect(ended.policies.get("reference-shared")?.weights).toBe(warm);
    expect(ended.policies.get("shared")?.weights).not.toBe(warm);
    const metrics = (await readMetrics(at("run"))).filter(({ stage }) => stage === "reinforcement");
    // At the first step the policy equals the reference, but the test's engine samples every token with the same
    // probability.
    for (const { policies } of metrics) {
      expect(policies["shared"]?.referenceKl).toBeGreaterThan(0);
      expect(policies["shared"]?.klCoefficient).toBe(0.1);
    }
  },
);

test("an adaptive coefficient follows the measured divergence, in metrics and checkpoints", async () => {
  const resolved = recipeOf(
    rows["critics per role and adaptive KL in the reward"] as RecipeInput["algorithm"],
  );
  await trainIn("run", resolved);
  const metrics = (await readMetrics(at("run"))).flatMap(({ policies }) => policies["shared"] ?? []);
  const coefficients = metrics.flatMap(({ klCoefficient }) => klCoefficient ?? []);
  expect(coefficients[0]).toBe(0.1);
  // The divergence stays more than a fifth below the target, over more tokens than the horizon.
  expect(coefficients.slice(1)).toEqual(coefficients.slice(0, -1).map((before) => before * 0.8));
  const checkpoint = await latestCheckpoint(path.join(at("run"), "checkpoints"));
  expect(checkpoint?.state.reinforcement?.klCoefficients["shared"]).toBe((coefficients.at(-1) ?? 0) * 0.8);
});

test("what moving baselines have come to is in checkpoints, by role", async () => {
  await trainIn("run", recipeOf(rows["a moving baseline of each role"] as RecipeInput["algorithm"]));
  const checkpoint = await latestCheckpoint(path.join(at("run"), "checkpoints"));
  const { baselines = {} } = checkpoint?.state.reinforcement ?? {};
  expect(Object.keys(baselines).toSorted()).toEqual(["planner", "scout"]);
  expect(Object.values(baselines).every((one) => one > 0 && one < 1)).toBe(true);
});

test("critics are trained beside the policies: one per trained role, or one for all", async () => {
  const ppo = await trainIn("ppo", recipeOf({ name: "ppo", samples: 2 }));
  expect([...ppo.policies.keys()]).toEqual(["shared", "critic-scout", "critic-planner"]);
  const maac = await trainIn("maac", recipeOf({ name: "maac", samples: 2 }));
  expect([...maac.policies.keys()]).toEqual(["shared", "critic"]);
  const shown = (await readMetrics(at("ppo"))).map(({ critics }) => Object.keys(critics ?? {}).join());
  expect(shown).toEqual([...Array(3).fill(""), ...Array(4).fill("critic-scout,critic-planner")]);
  const last = (await readMetrics(at("ppo"))).at(-1)?.critics?.["critic-planner"];
  expect(last).toMatchObject({ optimizerSteps: 2, learningRate: 0.001 });
  expect(last?.explainedVariance).toBeLessThan(1);
  expect(await fs.readdir(at("ppo/checkpoints/step-7"))).toEqual(
    expect.arrayContaining(["critic-planner", "critic-planner.optimizer", "critic-scout", "shared"]),
  );
});

test("a critic has its own optimizer", async () => {
  const algorithm = { name: "ppo", samples: 2, criticLearningRate: 0.5, criticEpochs: 3 };
  await trainIn("run", recipeOf(algorithm));
  const steps = (await readMetrics(at("run"))).filter(({ critics }) => critics !== undefined);
  // A step in which every return is equal updates the critic alone.
  const updated = steps.find(({ policies }) => policies["shared"]?.optimizerSteps !== 0);
  expect(updated?.critics?.["critic-scout"]).toMatchObject({ optimizerSteps: 6, learningRate: 0.5 });
  expect(updated?.policies["shared"]).toMatchObject({ optimizerSteps: 2, learningRate: 0.001 });
});

test("dynamic sampling: tasks with zero variance are dropped and replaced, and their tokens count", async () => {
  const dynamic = { name: "grpo", samples: 2, dynamicSampling: true, refills: 50 };
  await trainIn("run", recipeOf(dynamic));
  const steps = (await readMetrics(at("run"))).flatMap(({ rollout }) => rollout ?? []);
  expect(steps.some(({ dropped = 0 }) => dropped > 0)).toBe(true);
  let soFar = 0;
  for (const { episodes, dropped = 0, flatGroups, sampledTokens, sampledSoFar } of steps) {
    expect(episodes - dropped).toBe(3);
    expect(flatGroups).toBe(0);
    soFar += sampledTokens;
    expect(sampledSoFar).toBe(soFar);
  }
  const kept = (await readEpisodeIndex(at("run"))).filter(
    ({ step, evaluation }) => step === 4 && !evaluation,
  );
  expect(kept).toHaveLength(3);
});

test("an episode whose alternatives were continued counts as its first trajectory does", async () => {
  const record = { training: { every: 1, perStep: "all" as const } };
  await trainIn("run", recipeOf({ name: "c3", samples: 3 }, { record }));
  const index = await readEpisodeIndex(at("run"));
  expect(index.map(({ branched = false, evaluation }) => branched !== (evaluation === undefined))).toEqual(
    index.map(() => false),
  );
  for (const { step, rollout } of await readMetrics(at("run"))) {
    if (rollout === undefined) continue;
    const own = index.filter((entry) => entry.step === step && entry.evaluation === undefined);
    expect(own).toHaveLength(rollout.episodes);
    expect(mean(own.map(({ success }) => success))).toBeCloseTo(rollout.success, 12);
    expect(mean(own.map(({ score }) => score))).toBeCloseTo(rollout.score, 12);
  }
});

test("a number of tokens per step is kept on average, whatever the algorithm, and the result adds up", async () => {
  const budget = { steps: 12, tasksPerStep: 2, tokensPerStep: 600, learningRate: 0.001 };
  for (const name of ["grpo", "at-grpo"]) {
    await trainIn(name, recipeOf({ name, samples: 4 }, { train: budget }));
    const steps = (await readMetrics(at(name))).flatMap(({ rollout }) => rollout ?? []);
    for (const [index, { sampledSoFar = 0, waves }] of steps.entries()) {
      // A task has 2 turns × 2 roles × 4 samples of 1 to 8 tokens; the last wave is a rounded-up number of tasks.
      expect(sampledSoFar).toBeGreaterThanOrEqual(600 * (index + 1));
      expect(sampledSoFar).toBeLessThan(600 * (index + 1) + 3 * 128);
      expect(waves).toBeGreaterThan(1);
    }
    const outcome = await train({
      ...recipeOf({ name, samples: 4 }, { train: budget }),
      directory: at(name),
      engine: new HashEngine({ vocabularySize: 9, endToken: 2 }),
    });
    if (outcome.status !== "finished") throw new Error("a finished run is shown");
    const { tokens, policies } = outcome.result;
    expect(tokens.sampledInTraining).toBe(steps.at(-1)?.sampledSoFar);
    expect(tokens.sampled).toBeGreaterThan(tokens.sampledInTraining);
    expect(policies["shared"]?.optimizerSteps).toBe(3 + 12);
  }
});

test("without the weights from the start of reinforcement, a run reports what is missing", async () => {
  const resolved = recipeOf({ name: "ppo", samples: 2 });
  await trainIn("run", resolved, 5);
  await fs.rm(at("run/beginning"), { recursive: true });
  await expect(trainIn("run", resolved)).rejects.toThrow(
    /beginning is missing.*at the start of reinforcement/s,
  );
});

test("concatenated prompts that do not fit a central critic are rejected with what to do", async () => {
  const role = { policy: "shared", prompt: "board ".repeat(2500), maxTokens: 8 };
  const together = { scout: { ...role, seat: "scout" }, planner: { ...role, seat: "planner" } };
  const team = { roles: together, phases: [["scout", "planner"]], turns: 1 };
  const fits = recipeOf({ name: "iac", samples: 2 }, { team, warmStart: undefined });
  await trainIn("fits", fits);
  const central = recipeOf({ name: "maac", samples: 2 }, { team, warmStart: undefined });
  await expect(trainIn("long", central)).rejects.toThrow(/central critic accepts at most 4096.*per role/s);
});

test.each([
  [
    "NaN",
    (values: Float32Array) => values.fill(Number.NaN),
    /critic-scout gave the value NaN; its weights have/,
  ],
  ["too few values", (values: Float32Array) => values.slice(1), /critic-scout gave \d values for \d tokens/],
])("%s of a critic are a failure, not missing rewards", async (_, change, message) => {
  const resolved = recipeOf({ name: "ppo", samples: 2 });
  const engine = new HashEngine({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2 });
  const forward = engine.forward.bind(engine);
  engine.forward = async (...given) => {
    const { values, ...rest } = await forward(...given);
    return values === undefined ? rest : { ...rest, values: values.map(change) };
  };
  await expect(train({ ...resolved, directory: at("damaged"), engine })).rejects.toThrow(message);
});
