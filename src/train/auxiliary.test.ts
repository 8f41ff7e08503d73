import fs from "node:fs/promises";
import { expect, test } from "vitest";
import { latestCheckpoint } from "../runs/checkpoints.ts";
import { readEpisodeIndex } from "../runs/read-episodes.ts";
import { readMetrics } from "../runs/read.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { mean } from "../statistics.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { hashEngineFor, trainings } from "./testing/trainings.ts";

const { at, trained, stopped, inParts, recordsOf } = trainings();

function recipeOf(algorithm: RecipeInput["algorithm"], changes: Partial<RecipeInput> = {}) {
  return tinyRecipe({ algorithm, evaluation: { tasks: 2 }, checkpoint: { every: 2, keep: 1 }, ...changes });
}

const adaptive = { coefficient: 0.1, target: 0.5, horizon: 100 };
const rows = {
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
    refills: 50,
    kl: { where: "loss", ...adaptive },
  },
  "a moving baseline of each role": { name: "reinforce", samples: 2, baseline: "moving", reward: "rewards" },
};

test.each(Object.entries(rows))(
  "%s: stopped after any step and resumed, a run ends the same",
  async (name, row) => {
    const whole = await trained(name, recipeOf(row));
    const parts = await inParts(`${name}, in parts`, recipeOf(row));
    expect(parts).toHaveLength(7 + 1);
    // Afterwards only the team is evaluated, without critics and references.
    expect(parts.at(-2)?.weights).toEqual(whole.weights);
    expect(await recordsOf(`${name}, in parts`)).toEqual(await recordsOf(name));
  },
);

/** Of the runs above. */
const metricsOf = (name: keyof typeof rows) => readMetrics(at(name));
const reinforcementOf = async (name: keyof typeof rows) =>
  (await latestCheckpoint(at(name, "checkpoints")))?.state.reinforcement;

const preset = { preset: "nano" } as const;

test.each([
  ["a whole model", { model: preset }],
  ["an adapter", { model: preset, adapter: { rank: 4, alpha: 8 } }],
])(
  "the reference of %s is the policy at the start of reinforcement, and never changes",
  async (name, shared) => {
    const kl = { where: "loss", coefficient: 0.1 };
    const resolved = recipeOf({ name: "grpo", samples: 2, kl }, { policies: { shared } });
    const begun = await stopped(name, resolved, (event) => event.type === "step" && event.metrics.step === 3);
    const warm = begun.weights["shared"];
    expect(begun.weights).not.toHaveProperty("reference-shared");
    const { weights } = await trained(name, resolved);
    expect(weights["reference-shared"]).toBe(warm);
    expect(weights["shared"]).not.toBe(warm);
    const metrics = (await readMetrics(at(name))).filter(({ stage }) => stage === "reinforcement");
    // At the first step the policy equals the reference, but the test's engine samples every token with the same
    // probability.
    for (const { policies } of metrics) {
      expect(policies["shared"]?.referenceKl).toBeGreaterThan(0);
      expect(policies["shared"]?.klCoefficient).toBe(0.1);
    }
  },
);

test("an adaptive coefficient follows the measured divergence, in metrics and checkpoints", async () => {
  const name = "critics per role and adaptive KL in the reward";
  const metrics = (await metricsOf(name)).flatMap(({ policies }) => policies["shared"] ?? []);
  const coefficients = metrics.flatMap(({ klCoefficient }) => klCoefficient ?? []);
  expect(coefficients[0]).toBe(0.1);
  // The divergence stays more than a fifth below the target, over more tokens than the horizon.
  expect(coefficients.slice(1)).toEqual(coefficients.slice(0, -1).map((before) => before * 0.8));
  const { klCoefficients } = (await reinforcementOf(name)) ?? {};
  expect(klCoefficients?.["shared"]).toBe((coefficients.at(-1) ?? 0) * 0.8);
});

test("what moving baselines have come to is in checkpoints, by role", async () => {
  const { baselines = {} } = (await reinforcementOf("a moving baseline of each role")) ?? {};
  expect(Object.keys(baselines).toSorted()).toEqual(["planner", "scout"]);
  expect(Object.values(baselines).every((one) => one > 0 && one < 1)).toBe(true);
});

test("critics are trained beside the policies: one per trained role with an optimizer of its own, or one for all", async () => {
  const ppo = { name: "ppo", samples: 2, criticLearningRate: 0.5, criticEpochs: 3 };
  const { weights } = await trained("ppo", recipeOf(ppo));
  expect(Object.keys(weights)).toEqual(["shared", "critic-scout", "critic-planner"]);
  const metrics = await readMetrics(at("ppo"));
  const shown = metrics.map(({ critics }) => Object.keys(critics ?? {}).join());
  expect(shown).toEqual([...Array(3).fill(""), ...Array(4).fill("critic-scout,critic-planner")]);
  expect(metrics.at(-1)?.critics?.["critic-planner"]?.explainedVariance).toBeLessThan(1);
  // A step in which every return is equal updates the critic alone.
  const updated = metrics.slice(3).find(({ policies }) => policies["shared"]?.optimizerSteps !== 0);
  expect(updated?.critics?.["critic-scout"]).toMatchObject({ optimizerSteps: 6, learningRate: 0.5 });
  expect(updated?.policies["shared"]).toMatchObject({ optimizerSteps: 2, learningRate: 0.001 });
  expect(await fs.readdir(at("ppo/checkpoints/step-7"))).toEqual(
    expect.arrayContaining(["critic-planner", "critic-planner.optimizer", "critic-scout", "shared"]),
  );
  const last = (await metricsOf("a central critic")).at(-1)?.critics;
  expect(last).toMatchObject({ critic: { optimizerSteps: 2, learningRate: 0.001 } });
  expect(Object.keys(last ?? {})).toEqual(["critic"]);
});

test("dynamic sampling: tasks with zero variance are dropped and replaced, and their tokens count", async () => {
  const name = "adaptive KL in the loss and dynamic sampling";
  const steps = (await metricsOf(name)).flatMap(({ rollout }) => rollout ?? []);
  expect(steps.some(({ dropped = 0 }) => dropped > 0)).toBe(true);
  let soFar = 0;
  for (const { episodes, dropped = 0, flatGroups, sampledTokens, sampledSoFar } of steps) {
    expect(episodes - dropped).toBe(3);
    expect(flatGroups).toBe(0);
    soFar += sampledTokens;
    expect(sampledSoFar).toBe(soFar);
  }
  const kept = (await readEpisodeIndex(at(name))).filter(({ step, evaluation }) => step === 4 && !evaluation);
  expect(kept).toHaveLength(3);
});

test("an episode whose alternatives were continued counts as its first trajectory does", async () => {
  const record = { training: { every: 1, perStep: "all" as const } };
  await trained("c3", recipeOf({ name: "c3", samples: 3 }, { record }));
  const index = await readEpisodeIndex(at("c3"));
  expect(index.map(({ branched = false, evaluation }) => branched !== (evaluation === undefined))).toEqual(
    index.map(() => false),
  );
  for (const { step, rollout } of await readMetrics(at("c3"))) {
    if (rollout === undefined) continue;
    const own = index.filter((entry) => entry.step === step && entry.evaluation === undefined);
    expect(own).toHaveLength(rollout.episodes);
    expect(mean(own.map(({ success }) => success))).toBeCloseTo(rollout.success, 12);
    expect(mean(own.map(({ score }) => score))).toBeCloseTo(rollout.score, 12);
  }
});

test("a number of tokens per step is kept on average, whatever the algorithm, and the result adds up", async () => {
  // Unless steps sample less after those that sampled too much, the excess is above the bound below after about ten steps.
  const budget = { steps: 12, tasksPerStep: 2, tokensPerStep: 600, learningRate: 0.001 };
  for (const name of ["grpo", "at-grpo"]) {
    const { outcome } = await trained(`budget of ${name}`, recipeOf({ name, samples: 4 }, { train: budget }));
    const steps = (await readMetrics(at(`budget of ${name}`))).flatMap(({ rollout }) => rollout ?? []);
    for (const [index, { sampledSoFar = 0, waves }] of steps.entries()) {
      // A task has 2 turns × 2 roles × 4 samples of 1 to 8 tokens; the last wave is a rounded-up number of tasks.
      expect(sampledSoFar).toBeGreaterThanOrEqual(600 * (index + 1));
      expect(sampledSoFar).toBeLessThan(600 * (index + 1) + 3 * 128);
      expect(waves).toBeGreaterThan(1);
    }
    if (outcome.status !== "finished") throw new Error("nothing stops it");
    const { tokens, policies } = outcome.result;
    expect(tokens.sampledInTraining).toBe(steps.at(-1)?.sampledSoFar);
    expect(tokens.sampled).toBeGreaterThan(tokens.sampledInTraining);
    expect(policies["shared"]?.optimizerSteps).toBe(3 + 12);
  }
});

test("without the weights from the start of reinforcement, a run reports what is missing", async () => {
  const resolved = recipeOf({ name: "ppo", samples: 2 });
  await stopped("begun", resolved, (event) => event.type === "step" && event.metrics.step === 5);
  await fs.rm(at("begun/beginning"), { recursive: true });
  await expect(trained("begun", resolved)).rejects.toThrow(
    /beginning is missing.*at the start of reinforcement/s,
  );
});

test("concatenated prompts that do not fit a central critic are rejected with what to do", async () => {
  const role = { policy: "shared", prompt: "board ".repeat(2500), maxTokens: 8 };
  const together = { scout: { ...role, seat: "scout" }, planner: { ...role, seat: "planner" } };
  const team = { roles: together, phases: [["scout", "planner"]], turns: 1 };
  const fits = recipeOf({ name: "iac", samples: 2 }, { team, warmStart: undefined });
  await trained("fits", fits);
  const central = recipeOf({ name: "maac", samples: 2 }, { team, warmStart: undefined });
  await expect(trained("long", central)).rejects.toThrow(/central critic accepts at most 4096.*per role/s);
});

test.each([
  [
    "NaN",
    (values: Float32Array) => values.fill(Number.NaN),
    /critic-scout gave the value NaN; its weights have/,
  ],
  ["too few values", (values: Float32Array) => values.slice(1), /critic-scout gave \d values for \d tokens/],
])("%s of a critic are a failure, not missing rewards", async (name, change, message) => {
  const resolved = recipeOf({ name: "ppo", samples: 2 });
  const engine = hashEngineFor(resolved);
  const forward = engine.forward.bind(engine);
  engine.forward = async (...given) => {
    const { values, ...rest } = await forward(...given);
    return values === undefined ? rest : { ...rest, values: values.map(change) };
  };
  await expect(trained(name, resolved, { engine })).rejects.toThrow(message);
});
