import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Continuation, Datum, LossResult } from "../engines/engine.ts";
import {
  adamAt,
  mismatchOf,
  updatePolicy,
  type OptimizerSettings,
  minibatchesOf,
  learningRateAt,
} from "./update.ts";
import type { CreditedAction } from "../credit/algorithm.ts";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit } from "../credit/credit.ts";
import { toData } from "../credit/data.ts";
import { action, episodeFrom, trajectories, type TreeSketch } from "../credit/testing.ts";
import { rootKey } from "../random.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";

const settings: OptimizerSettings = {
  learningRate: 1,
  schedule: "linear",
  finalLearningRate: 0,
  warmupSteps: 1,
  steps: 4,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  clipNorm: 2,
};
const datum: Datum = {
  policy: "p",
  prompt: Int32Array.of(1),
  continuations: [
    { tokens: Int32Array.of(2, 3) },
    { tokens: Int32Array.of(2, 3, 4), weights: Float32Array.of(0, 0.5, 0.25) },
  ],
};
const result: LossResult = { loss: 3, tokens: 4, entropy: 8, kl: 1, clipped: 2, logprobs: [] };

const update = (...batches: readonly (readonly Datum[])[]) =>
  ({ policy: "p", loss: { type: "cross_entropy" }, adam: adamAt(settings, 2), batches }) as const;

function engineOf(results: readonly LossResult[], norms: readonly number[]) {
  const [left, leftNorms] = [[...results], [...norms]];
  return {
    forwardBackward: () => Promise.resolve(left.shift() ?? result),
    optimStep: () => Promise.resolve({ gradientNorm: leftNorms.shift() ?? 0 }),
  };
}

test("Adam's options follow the schedule; a policy's own learning rate overrides the stage's", () => {
  expect(adamAt(settings, 1).learningRate).toBe(0.5);
  expect(adamAt(settings, 3, 10).learningRate).toBe(5);
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = settings;
  expect(adamAt(settings, 2)).toEqual({ learningRate: 1, beta1, beta2, epsilon, weightDecay, clipNorm });
});

test("the metrics are means per token over all optimizer steps; empty batches make none", async () => {
  const other: LossResult = { loss: 5, tokens: 12, entropy: 0, kl: 3, clipped: 0, logprobs: [] };
  const engine = engineOf([result, other], [0.5, 0.25]);
  expect(await updatePolicy(engine, update([datum], [], [datum]))).toEqual({
    loss: 4,
    tokens: 8, // two batches of 2 + 2: a weight of 0 trains nothing
    optimizerSteps: 2,
    learningRate: 1,
    gradientNorm: 0.5,
    entropy: 0.5,
    kl: 0.25,
    clipShare: 0.125,
  });
});

test("what the engine does not measure is absent from the metrics, and so is what a step without an update has not", async () => {
  const { entropy: _, ...bare } = result;
  const engine = { forwardBackward: async () => bare, optimStep: async () => ({}) };
  const measured = { loss: 3, tokens: 8, optimizerSteps: 2, learningRate: 1, kl: 0.25, clipShare: 0.5 };
  expect(await updatePolicy(engine, update([datum], [datum]))).toEqual(measured);
  const nothing = { loss: 0, tokens: 0, optimizerSteps: 0, learningRate: 1, gradientNorm: 0, clipShare: 0 };
  expect(await updatePolicy(engineOf([], []), update([]))).toEqual(nothing);
});

test("all minibatches are submitted together; if several fail, the first error is thrown", async () => {
  const calls: string[] = [];
  const engine = {
    forwardBackward: () => {
      calls.push("gradients");
      return Promise.reject(new Error("no gradients"));
    },
    optimStep: () => {
      calls.push("step");
      return Promise.reject(new Error("nothing to step with"));
    },
  };
  await expect(updatePolicy(engine, update([datum], [datum]))).rejects.toThrow("no gradients");
  expect(calls).toEqual(["gradients", "step", "gradients", "step"]);
});

test.each([
  [Number.NaN, 1, 0],
  [1, Number.POSITIVE_INFINITY, 0],
  [1, 1, Number.POSITIVE_INFINITY],
])(
  "a loss of %d, a gradient of norm %d, a divergence of %d: the run ends with advice",
  async (loss, norm, kl) => {
    const engine = engineOf([{ ...result, loss, kl }], [norm]);
    await expect(updatePolicy(engine, update([datum]))).rejects.toThrow(
      /diverged.*policy p.*learning rate was 1; lower it/s,
    );
  },
);

const line = (score: number) => ({ actions: [action({ role: "a" }), action({ role: "b" })], score });

/** Two trajectories of two roles with one policy, for each task; MAS-GRPO compares them by role. */
function creditedTasks(tasks: number): CreditedAction[] {
  const episodes = Array.from({ length: tasks }, (_, task) => trajectories(task, [line(0), line(1)]));
  return credit(episodes, algorithmFrom("mas-grpo"));
}

function settingOf(epochs: number, minibatches: number) {
  const { recipe } = tinyRecipe({
    train: { steps: 1, tasksPerStep: 20, learningRate: 1, epochs, minibatches },
  });
  return { settings: recipe.train, root: rootKey(3) };
}

const taskOf = ({ episode }: CreditedAction) => episode.path[2];

test("every epoch has every action once, whole tasks, in parts of nearly equal size", () => {
  const counts = fc.record({ tasks: fc.nat(20), epochs: fc.integer({ min: 1, max: 3 }) });
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 5 }), ({ tasks, epochs }, parts) => {
      const credited = creditedTasks(tasks);
      const batches = minibatchesOf(settingOf(epochs, parts), "solver", 1, credited);
      expect(batches).toHaveLength(epochs * parts);
      for (let epoch = 0; epoch < epochs; epoch++) {
        const own = batches.slice(epoch * parts, (epoch + 1) * parts);
        expect(new Set(own.flat())).toEqual(new Set(credited));
        const perPart = own.map((batch) => new Set(batch.map(taskOf)).size);
        expect(perPart.reduce((sum, count) => sum + count, 0)).toBe(tasks);
        expect(Math.max(...perPart) - Math.min(...perPart)).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 30 },
  );
});

/** Two joint actions at each state of two turns, one role; the second is better. */
function tree(turn = 0): TreeSketch["children"] {
  return [0, 1].map((sample) => ({
    actions: [
      { role: "solver", turn, phase: 0, sample, frozen: false, team: sample, local: 0, logprobs: [-1] },
    ],
    children: turn === 1 ? [] : tree(turn + 1),
  }));
}

test("a tree stays whole, so that its turns have equal weight in every minibatch", () => {
  const magrpo = algorithmFrom("magrpo", { samples: 2, handOver: "all", reward: "action" });
  const episodes = Array.from({ length: 6 }, (_, task) => episodeFrom(task, { children: tree() }).episode);
  const credited = credit(episodes, magrpo);
  const turnOf = new Map(credited.map((one) => [one.action.tokens, one.action.turn]));
  const batches = [1, 2, 3].flatMap((step) =>
    minibatchesOf(settingOf(1, 3), "policy-solver", step, credited),
  );
  for (const batch of batches) {
    const trained = toData(batch, magrpo).flatMap(({ continuations }) => continuations);
    for (const turn of [0, 1]) {
      const own = trained.filter(({ tokens }) => turnOf.get(tokens) === turn);
      const weight = own.reduce((sum, { advantages = [] }) => sum + Math.abs(advantages[0] ?? 0), 0);
      expect(weight).toBeCloseTo(0.25, 6);
    }
  }
});

test("epochs, steps and policies are shuffled differently, but reproducibly", () => {
  const credited = creditedTasks(12);
  const orders = (stageStep: number, policy: string) =>
    minibatchesOf(settingOf(2, 2), policy, stageStep, credited).map((batch) => batch.map(taskOf).join());
  const [first, second] = [orders(1, "a"), orders(1, "a")];
  expect(first).toEqual(second);
  expect(new Set([...first, ...orders(2, "a"), ...orders(1, "b")]).size).toBe(12);
});

const base = { learningRate: 1, finalLearningRate: 0.1, warmupSteps: 0, steps: 5 } as const;
const rates = (schedule: Parameters<typeof learningRateAt>[0]) =>
  Array.from({ length: schedule.steps }, (_, index) => learningRateAt(schedule, index + 1));
const close = (values: number[]) => values.map((value) => expect.closeTo(value, 12) as number);
const cosine = (angle: number) => 0.1 + (0.9 * (1 + Math.cos(angle))) / 2;

test.each([
  ["constant", {}, [1, 1, 1, 1, 1]],
  ["linear", {}, [1, 0.775, 0.55, 0.325, 0.1]],
  ["cosine", {}, [1, cosine(Math.PI / 4), 0.55, cosine((3 * Math.PI) / 4), 0.1]],
  ["constant", { warmupSteps: 3 }, [0.25, 0.5, 0.75, 1, 1]],
  ["cosine", { steps: 1 }, [1]],
] as const)("the learning rates of %s with %j", (schedule, changes, expected) => {
  expect(rates({ ...base, schedule, ...changes })).toEqual(close([...expected]));
});

const continuation = (logprobs: number[], mask?: number[]): Continuation => ({
  tokens: Int32Array.from(logprobs, () => 1),
  logprobs: Float32Array.from(logprobs),
  ...(mask === undefined ? {} : { mask: Float32Array.from(mask) }),
});
const data = (...continuations: Continuation[]): Datum[] => [
  { policy: "p", prompt: Int32Array.of(1), continuations },
];

test("the mismatch is the mean absolute difference of the log-probabilities, without masked tokens", () => {
  const one = {
    data: data(continuation([-1, -2]), continuation([-3])),
    result: { logprobs: [Float32Array.of(-1.5, -1), Float32Array.of(-3)] },
  };
  const masked = {
    data: data(continuation([-1, 0], [1, 0])),
    result: { logprobs: [Float32Array.of(-1.25, -9)] },
  };
  expect(mismatchOf([one])).toEqual({ mismatch: 0.5 });
  expect(mismatchOf([one, masked])).toEqual({ mismatch: 1.75 / 4 });
  expect(mismatchOf([])).toEqual({});
  expect(mismatchOf([{ ...one, result: { logprobs: [] } }])).toEqual({});
});
