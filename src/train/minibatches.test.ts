import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { CreditedAction } from "../credit/algorithm.ts";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit } from "../credit/credit.ts";
import { action, trajectories } from "../credit/testing.ts";
import { rootKey } from "../random.ts";
import { minibatchesOf } from "./minibatches.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";

const line = (score: number) => ({ actions: [action({ role: "a" }), action({ role: "b" })], score });

/** Two trajectories of two roles with one policy, of each task; MAS-GRPO compares them role by role. */
function creditedTasks(tasks: number): CreditedAction[] {
  const episodes = Array.from({ length: tasks }, (_, task) => trajectories(task, [line(0), line(1)]));
  return credit(episodes, algorithmFrom("mas-grpo"));
}

function sessionOf(epochs: number, minibatches: number) {
  const { recipe } = tinyRecipe({
    train: { steps: 1, tasksPerStep: 20, learningRate: 1, epochs, minibatches },
  });
  return { recipe, root: rootKey(3) };
}

const taskOf = ({ episode }: CreditedAction) => episode.path[2];

test("every epoch has every action once, tasks whole, in parts of nearly equal size", () => {
  const counts = fc.record({ tasks: fc.nat(20), epochs: fc.integer({ min: 1, max: 3 }) });
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 5 }), ({ tasks, epochs }, parts) => {
      const credited = creditedTasks(tasks);
      const batches = minibatchesOf(sessionOf(epochs, parts), "solver", 1, credited);
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

test("epochs, steps and policies are shuffled each in its own way, and the same again", () => {
  const credited = creditedTasks(12);
  const orders = (stageStep: number, policy: string) =>
    minibatchesOf(sessionOf(2, 2), policy, stageStep, credited).map((batch) => batch.map(taskOf).join());
  const [first, second] = [orders(1, "a"), orders(1, "a")];
  expect(first).toEqual(second);
  expect(new Set([...first, ...orders(2, "a"), ...orders(1, "b")]).size).toBe(12);
});
