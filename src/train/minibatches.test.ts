import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { CreditedAction } from "../credit/algorithm.ts";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit, toData } from "../credit/credit.ts";
import { action, episodeFrom, trajectories, type TreeSketch } from "../credit/testing.ts";
import { rootKey } from "../random.ts";
import { minibatchesOf } from "./update.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";

const line = (score: number) => ({ actions: [action({ role: "a" }), action({ role: "b" })], score });

/** Two trajectories of two roles with one policy, for each task; MAS-GRPO compares them by role. */
function creditedTasks(tasks: number): CreditedAction[] {
  const episodes = Array.from({ length: tasks }, (_, task) => trajectories(task, [line(0), line(1)]));
  return credit(episodes, algorithmFrom("mas-grpo"));
}

function learnerOf(epochs: number, minibatches: number) {
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
      const batches = minibatchesOf(learnerOf(epochs, parts), "solver", 1, credited);
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
    minibatchesOf(learnerOf(1, 3), "policy-solver", step, credited),
  );
  for (const batch of batches) {
    const trained = toData(batch, magrpo).flatMap(({ continuations }) => continuations);
    const weights = [0, 1].map((turn) =>
      trained
        .filter(({ tokens }) => turnOf.get(tokens) === turn)
        .reduce((sum, { advantages = [] }) => sum + Math.abs(advantages[0] ?? 0), 0),
    );
    expect(weights.map((weight) => weight.toFixed(6))).toEqual(["0.250000", "0.250000"]);
  }
});

test("epochs, steps and policies are shuffled differently, but reproducibly", () => {
  const credited = creditedTasks(12);
  const orders = (stageStep: number, policy: string) =>
    minibatchesOf(learnerOf(2, 2), policy, stageStep, credited).map((batch) => batch.map(taskOf).join());
  const [first, second] = [orders(1, "a"), orders(1, "a")];
  expect(first).toEqual(second);
  expect(new Set([...first, ...orders(2, "a"), ...orders(1, "b")]).size).toBe(12);
});
