import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TroupeError } from "../../errors.ts";
import { childKey, generatorOf, keyAt, rootKey } from "../../random.ts";
import { type Board, distancesTo, isFree } from "../grid/board.ts";
import type { GameSplit } from "../tasks.ts";
import { drawTask, drawTasksOn, longestPath, pathOptions, splitOf } from "./generator.ts";

it("the defaults are the paper's boards", () => {
  expect(pathOptions.parse({})).toMatchObject({ size: 10, obstacles: 0.22, notation: "list", plan: "moves" });
});

it.each([
  { size: 2 },
  { size: 27 },
  { size: 4.5 },
  { obstacles: 0.51 },
  { obstacle: 0.2 },
  { notation: "table" },
  { longestOf: 1e9 },
])("%j are rejected", (options) => {
  expect(pathOptions.safeParse(options).success).toBe(false);
});

const paper = { size: 10, obstacles: 0.22 };
const many = Array.from({ length: 2000 }, (_, index) =>
  drawTask(paper, "train", childKey(rootKey(5), index)),
);
const anySplit = fc.constantFrom<GameSplit>("train", "heldOut");
const anyOptions = fc.record({
  size: fc.integer({ min: 3, max: 12 }),
  obstacles: fc.double({ min: 0, max: 0.5, noNaN: true }),
});

describe("a task", () => {
  it("has a start and a goal that are free, different and connected by a path that fits", () => {
    fc.assert(
      fc.property(anyOptions, anySplit, fc.nat(), (options, split, seed) => {
        const { board, start } = drawTask(options, split, rootKey(seed));
        expect(board.walls).toMatch(/^[.#]+$/);
        expect(board.walls).toHaveLength(options.size ** 2);
        expect(isFree(board, start) && isFree(board, board.goal)).toBe(true);
        expect(distancesTo(board)[start]).toBeGreaterThan(0);
        expect(distancesTo(board)[start]).toBeLessThanOrEqual(longestPath(options.size));
      }),
    );
  });

  it("has the paper's walls and path lengths", () => {
    const walls = many.reduce((sum, { board }) => sum + board.walls.replaceAll(".", "").length, 0);
    const lengths = many.reduce((sum, { board, start }) => sum + (distancesTo(board)[start] ?? 0), 0);
    // Boards with fewer walls are more often connected: .22 becomes about .21. The standard error is .001.
    expect(walls / (many.length * 100)).toBeCloseTo(0.21, 1);
    // 7.5 over 100,000 boards, standard deviation 4.4, so a standard error of .1 here.
    expect(lengths / many.length).toBeGreaterThan(7);
    expect(lengths / many.length).toBeLessThan(8);
  });

  it("depends on its key only", () => {
    expect(drawTask(paper, "train", rootKey(7))).toEqual(drawTask(paper, "train", rootKey(7)));
    expect(new Set(many.map((task) => JSON.stringify(task))).size).toBe(many.length);
  });

  it("is rejected if walls leave no path", () => {
    expect(() => drawTask({ size: 3, obstacles: 1 }, "train", rootKey(1))).toThrow(TroupeError);
    expect(() => drawTask({ size: 3, obstacles: 1 }, "train", rootKey(1))).toThrow(/use fewer obstacles/);
  });
});

describe("a split", () => {
  it("is a property of the board: no key gives a board of the other split", () => {
    fc.assert(
      fc.property(anyOptions, anySplit, fc.nat(), (options, split, seed) => {
        expect(splitOf(drawTask(options, split, rootKey(seed)).board)).toBe(split);
      }),
    );
  });

  it("is the same for every state of an episode, because it does not depend on the agent's cell", () => {
    const trained = new Set(many.map(({ board }) => JSON.stringify(board)));
    const heldOut = Array.from({ length: 2000 }, (_, index) =>
      drawTask(paper, "heldOut", childKey(rootKey(5), index)),
    );
    expect(heldOut.filter(({ board }) => trained.has(JSON.stringify(board)))).toEqual([]);
  });

  it("survives JSON", () => {
    for (const { board } of many.slice(0, 50)) {
      expect(splitOf(JSON.parse(JSON.stringify(board)) as Board)).toBe("train");
    }
  });

  it("holds out 3 of 16 boards, and keeps 1 of 16 for validation", () => {
    const moved = many.map(({ board }) => splitOf({ ...board, goal: (board.goal + 1) % 100 }));
    const share = (split: GameSplit) => moved.filter((found) => found === split).length / moved.length;
    // Binomial over 2000: standard errors .009 and .005.
    expect(Math.abs(share("heldOut") - 3 / 16)).toBeLessThan(0.035);
    expect(Math.abs(share("validation") - 1 / 16)).toBeLessThan(0.022);
  });

  it("has tasks at every size, even on boards without walls", () => {
    for (let size = 3; size <= 26; size++) {
      for (const split of ["train", "heldOut"] as const) {
        expect(splitOf(drawTask({ size, obstacles: 0 }, split, rootKey(size)).board)).toBe(split);
      }
    }
  });
});

function meanLength(split: GameSplit, longestOf: number): number {
  const lengths = Array.from({ length: 1000 }, (_, index) => {
    const task = drawTask({ size: 10, obstacles: 0.22, longestOf }, split, keyAt(rootKey(8), index));
    return distancesTo(task.board)[task.start] ?? 0;
  });
  return lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
}

describe("the longest of several draws", () => {
  it("is longer in training, and changes nothing in evaluation", () => {
    // The mean is 7.5 with a deviation of 4, so the standard error of these means is below .15.
    expect(meanLength("train", 3)).toBeGreaterThan(meanLength("train", 1) + 2);
    expect(meanLength("heldOut", 3)).toBe(meanLength("heldOut", 1));
  });
});

describe("tasks on the same walls", () => {
  it("have their own starts and goals and stay in their split", () => {
    const [first] = many;
    const tasks = drawTasksOn(first?.board as Board, "train", generatorOf(rootKey(3)), 8);
    expect(tasks).toHaveLength(8);
    expect(new Set(tasks.map(({ board }) => board.walls))).toEqual(new Set([first?.board.walls]));
    expect(new Set(tasks.map(({ board }) => splitOf(board)))).toEqual(new Set(["train"]));
    expect(new Set(tasks.map(({ board, start }) => `${start} ${board.goal}`)).size).toBeGreaterThan(1);
  });

  it("may be fewer than requested", () => {
    expect(
      drawTasksOn({ size: 3, walls: "########.", goal: 8 }, "train", generatorOf(rootKey(3)), 4),
    ).toEqual([]);
  });
});
