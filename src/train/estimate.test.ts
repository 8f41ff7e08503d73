import { expect, test } from "vitest";
import type { EndlessTasks, Json } from "../environments/environment.ts";
import { taskList } from "../environments/tasks.ts";
import type { ConfiguredJudge } from "../judges/judge.ts";
import { judges } from "../judges/judges.ts";
import { keyAt, rootKey } from "../random.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { estimate } from "./estimate.ts";
import type { Estimate, Work } from "./estimate.ts";
import type { Resolved } from "./state.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { trainings } from "./testing/trainings.ts";

const { at, trained } = trainings();
writeWordTokenizer(at("tokenizer"), wordsOf(tinyRecipe()));
const tokenizer = loadTokenizer(at("tokenizer"));

function estimated(
  resolved: Resolved,
  parameters = 1000,
  trainableParameters = parameters,
): Promise<Estimate> {
  const size = { tokenizer, maxLength: 512, parameters, trainableParameters };
  return estimate(resolved, { shared: size });
}

test("samples follow from the algorithm, the team and the schedule", async () => {
  // AT-GRPO: 2 turns × 2 roles, 3 actions each; 3 tasks × 4 steps.
  const atGrpo = await estimated(tinyRecipe());
  expect(atGrpo.sampling.samples).toBe(2 * 2 * 3 * 12);
  expect(atGrpo.training.samples).toBe(atGrpo.sampling.samples);
  // The team before, during (3 tasks) and after, the single agent before; one action per role and turn.
  expect(atGrpo.evaluation.samples).toBe((6 + 3 + 6) * 4 + 6 * 2);
  // GRPO: 3 whole trajectories of 4 actions each.
  const grpo = await estimated(tinyRecipe({ algorithm: { name: "grpo", samples: 3 } }));
  expect(grpo.sampling.samples).toBe(3 * 4 * 12);
  // C3 with 3 alternatives: 3 in each of 4 states, and 2 continued for 3, 2 and 1 further actions.
  const c3 = await estimated(tinyRecipe({ algorithm: { name: "c3", samples: 3 } }));
  expect(c3.sampling.samples).toBe((4 * 3 + 2 * (3 + 2 + 1)) * 12);
  const twice = tinyRecipe({ train: { steps: 4, tasksPerStep: 3, learningRate: 1, epochs: 2 } });
  expect((await estimated(twice)).training.samples).toBe(2 * atGrpo.sampling.samples);
});

test("a judge is asked about every action, of steps that are measured in tokens, too", async () => {
  const options = { provider: "compatible", model: "m", baseUrl: "http://127.0.0.1/", fills: "all" };
  const judge = judges.coach?.create(options) as ConfiguredJudge;
  const schedule = { steps: 4, tasksPerStep: 3, learningRate: 1 };
  const { judging, sampling } = await estimated({ ...tinyRecipe({ train: schedule }), judge });
  expect(judging?.requests).toBe(sampling.samples);
  const tokensPerStep = Math.floor((5 * sampling.actionTokens) / 4);
  const longer = { ...tinyRecipe({ train: { ...schedule, tokensPerStep } }), judge };
  const more = await estimated(longer);
  expect(more.sampling.samples).toBe(5 * sampling.samples);
  expect(more.judging?.requests).toBe(more.sampling.samples);
});

test.each([
  [0, 2, -2],
  [4, 0, 0],
  [4, 4, 0],
  [4, 5, 0],
  [4, 1, 3],
  [7, 3, 2],
  [1e12, 1e6, 1e6 - 1],
])(
  "evaluations of %d steps, every %d, are counted without going through the steps",
  async (steps, every, between) => {
    const schedule = { steps, tasksPerStep: 3, learningRate: 1 };
    const recipe = tinyRecipe({
      train: schedule,
      evaluation: { tasks: 6, every, tasksDuring: 3, compare: {} },
    });
    // Four actions per task; 6 tasks before and after, 3 between. Without reinforcement there is only one evaluation.
    expect((await estimated(recipe)).evaluation.samples).toBe(4 * (6 + 6 + 3 * between));
  },
);

test("an evaluation plays each task of a finite split as often as there are samples, and no more tasks than it has", async () => {
  const { environment, ...rest } = tinyRecipe({
    evaluation: { tasks: 128, every: 0, samples: 2, compare: {} },
  });
  const drawn = environment.tasks["heldOut"] as EndlessTasks<Json>;
  const boards = [0, 1, 2, 3].map((index) => drawn.draw(keyAt(rootKey(0), index)) as Json);
  const four = { ...environment, tasks: { ...environment.tasks, heldOut: taskList(boards) } };
  // 4 tasks, twice each, before and after; four actions in each.
  expect((await estimated({ ...rest, environment: four })).evaluation.samples).toBe(4 * 2 * 2 * 4);
});

const atOnce = (algorithm: RecipeInput["algorithm"]) =>
  tinyRecipe({
    algorithm,
    team: {
      roles: { scout: { policy: "shared", prompt: "" }, planner: { policy: "shared", prompt: "" } },
      phases: [["scout", "planner"]],
      turns: 2,
    },
  });

test("in cross mode the tree grows by every pair, and each completion is sampled once", async () => {
  // 3 × 3 pairs after the first turn, from each of which both roles sample 3 again; 3 tasks × 4 steps.
  const cross = await estimated(atOnce({ name: "magrpo", samples: 3, joint: "cross" }));
  expect(cross.sampling.samples).toBe((3 * 2 + 9 * 3 * 2) * 12);
  const aligned = await estimated(atOnce({ name: "magrpo", samples: 3 }));
  expect(aligned.sampling.samples).toBe((3 * 2 + 3 * 3 * 2) * 12);
});

test("references are evaluated once, critics once, then trained in their own epochs", async () => {
  const plain = await estimated(atOnce({ name: "ppo", samples: 2, critic: "role" }));
  // Both process the tokens of training: 6 per parameter and token there, 2 + 6 for a critic, 2 for a reference.
  expect(plain.signals.flops).toBeCloseTo((plain.training.flops * 8) / 6, 3);
  const twice = await estimated(
    atOnce({ name: "ppo", samples: 2, criticEpochs: 2, kl: { where: "reward" } }),
  );
  expect(twice.signals.flops).toBeCloseTo((plain.training.flops * (2 + 12 + 2)) / 6, 3);
  expect((await estimated(tinyRecipe())).signals.flops).toBe(0);
  // A value per prompt needs one token of an action, and a central critic reads both roles' prompts.
  const central = (await estimated(atOnce({ name: "maac", samples: 2 }))).signals;
  expect(central.actionTokens).toBe(central.samples);
  expect(central.promptTokens).toBeCloseTo(plain.signals.promptTokens, 6);
  // One policy of 1,000 parameters, two critics, a reference.
  expect(twice.bytes).toEqual({ weights: 16_000 + 2 * 16_000 + 4000, checkpoint: 3 * 12_000 });
});

test("a number of tokens per step determines the number of tasks", async () => {
  const one = (await estimated(tinyRecipe())).sampling.actionTokens / 12;
  const budget = { steps: 4, tasksPerStep: 3, learningRate: 1, tokensPerStep: Math.ceil(10.5 * one) };
  expect((await estimated(tinyRecipe({ train: budget }))).sampling.actionTokens).toBeCloseTo(4 * 11 * one, 3);
});

test("arithmetic is 2 per parameter and token forward, 6 in training, 4 for an adapter", async () => {
  const { sampling, training, total } = await estimated(tinyRecipe(), 1000);
  expect(sampling.flops).toBeCloseTo(2000 * (sampling.promptTokens + sampling.actionTokens), 3);
  expect(training.flops).toBeCloseTo(3 * sampling.flops, 3);
  expect((await estimated(tinyRecipe(), 1000, 10)).training.flops).toBeCloseTo(2 * sampling.flops, 3);
  expect(total.flops).toBeGreaterThan(sampling.flops + training.flops);
});

test("memory is weights, gradients and two moments", async () => {
  expect((await estimated(tinyRecipe(), 1000)).bytes).toEqual({ weights: 16_000, checkpoint: 12_000 });
  expect((await estimated(tinyRecipe(), 1000, 10)).bytes).toEqual({
    weights: 4 * 990 + 160,
    checkpoint: 120,
  });
});

test("the warm start's estimated tokens are close to the actual ones", async () => {
  const warmStart = { steps: 20, demonstrationsPerStep: 8, learningRate: 0.1 };
  const resolved = tinyRecipe({ warmStart, train: { steps: 0, tasksPerStep: 1, learningRate: 1 } });
  const { outcome } = await trained("run", resolved);
  const tokens = outcome.status === "finished" ? outcome.result.tokens.trained : 0;
  const { actionTokens, samples } = (await estimated(resolved)).warmStart;
  expect(samples).toBe(160);
  // Means over 16 and over 160 boards, whose path lengths vary by about half.
  expect(actionTokens / tokens).toBeGreaterThan(0.6);
  expect(actionTokens / tokens).toBeLessThan(1.6);
});

async function measuring(
  influence: { every: number; replies?: number },
  changes: Partial<RecipeInput> = {},
): Promise<Work> {
  return (await estimated(tinyRecipe({ ...changes, watch: { influence } }))).signals;
}

test("measuring influence takes two forward passes for each reply that it reads", async () => {
  // Steps 1 and 3. The planner answers the scout in 2 turns of 3 tasks, the scout the planner in the second one.
  const signals = await measuring({ every: 2 });
  expect(signals.samples).toBe(2 * (2 * 3 + 3) * 2);
  expect(signals.flops).toBeCloseTo((signals.promptTokens + signals.actionTokens) * 2 * 1000, 3);
  expect(signals.promptTokens).toBeGreaterThan(signals.samples);
  // At most 4 of the scout's 6, and the planner's 3; every step.
  expect((await measuring({ every: 1, replies: 4 })).samples).toBeCloseTo(2 * (4 + 3) * 4, 9);
  // Whole trajectories have several samples at the start only.
  expect((await measuring({ every: 1 }, { algorithm: { name: "grpo", samples: 3 } })).samples).toBe(
    2 * 3 * 3 * 4,
  );
  // C3 continues 2 alternatives of each action to the end; only the replies right after it have siblings: 3 in 3 places.
  const c3 = { algorithm: { name: "c3", samples: 3 } };
  expect((await measuring({ every: 1, replies: 99 }, c3)).samples).toBe(2 * (3 * 3) * 3 * 4);
  expect((await measuring({ every: 0 })).samples).toBe(0);
});
