import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, generatorOf, rootKey, shuffled } from "../../random.ts";
import type { GameSplit } from "../tasks.ts";
import { type BlocksTask, drawStarts, drawTask, longestPlan, splitOf } from "./generator.ts";
import { table, type Towers } from "./notation.ts";
import { movesBetween, spaceOf } from "./space.ts";
import { anyTask } from "./test-blocks.ts";

const many = Array.from({ length: 2000 }, (_, index) =>
  drawTask({ blocks: 5 }, "train", childKey(rootKey(5), index)),
);
const anySplit = fc.constantFrom<GameSplit>("train", "heldOut");

function renamed({ goal, on }: BlocksTask, names: readonly number[]): BlocksTask {
  const rename = (towers: Towers): number[] => {
    const result: number[] = [];
    towers.forEach(
      (below, block) => (result[names[block] ?? 0] = below === table ? table : (names[below] ?? 0)),
    );
    return result;
  };
  return { goal: rename(goal), on: rename(on) };
}

describe("a task", () => {
  it("is not solved at the start, and has a solution that fits; no key gives a task of another split", () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 6 }), anySplit, fc.nat(), (blocks, split, seed) => {
        const { goal, on } = drawTask({ blocks }, split, rootKey(seed));
        expect(splitOf({ goal, on })).toBe(split);
        expect([goal.length, on.length]).toEqual([blocks, blocks]);
        expect(movesBetween(on, goal)).toBeGreaterThan(0);
        expect(movesBetween(on, goal)).toBeLessThanOrEqual(longestPlan(blocks));
      }),
      { numRuns: 200 },
    );
  });

  it("has every arrangement equally likely", () => {
    const counts = new Map<string, number>();
    for (const { goal } of many) counts.set(goal.join(), (counts.get(goal.join()) ?? 0) + 1);
    // 2000 draws of 501: about 501·e^-4 = 9 are never drawn, and the largest count is rarely above 15.
    expect(counts.size).toBeGreaterThan(470);
    expect(Math.max(...counts.values())).toBeLessThan(20);
  });
});

describe("a split", () => {
  it("is the same for a task with renamed blocks", () => {
    fc.assert(
      fc.property(anyTask, fc.nat(), (task, seed) => {
        const names = shuffled(generatorOf(rootKey(seed)), [...task.on.keys()]);
        expect(splitOf(renamed(task, names))).toBe(splitOf(task));
      }),
    );
  });

  it("takes about a quarter of the tasks", () => {
    const { all } = spaceOf(5);
    const generator = generatorOf(rootKey(9));
    const pairs = shuffled(generator, all).map((on, index) => ({ on, goal: all[index] ?? [] }));
    const heldOut = pairs.filter((task) => splitOf(task) === "heldOut").length;
    // Binomial over 501, standard error .02.
    expect(heldOut / pairs.length).toBeGreaterThan(0.17);
    expect(heldOut / pairs.length).toBeLessThan(0.33);
  });
});

it("starts for a goal are training tasks with that goal", () => {
  const goal = many[0]?.goal ?? [];
  const starts = drawStarts(goal, "train", generatorOf(rootKey(3)), 20);
  expect(starts).toHaveLength(20);
  expect(starts.every((task) => task.goal === goal && splitOf(task) === "train")).toBe(true);
});
