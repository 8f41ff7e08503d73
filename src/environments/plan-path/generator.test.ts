import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TroupeError } from "../../errors.ts";
import { childKey, generatorOf, rootKey } from "../../random.ts";
import { type Board, distancesTo, isFree } from "../grid/board.ts";
import type { GameSplit } from "../tasks.ts";
import { drawTask, drawTasksOn, longestPath, splitOf } from "./generator.ts";

const paper = { size: 10, obstacles: 0.22 };
const many = Array.from({ length: 600 }, (_, index) => drawTask(paper, "train", childKey(rootKey(5), index)));
const anySplit = fc.constantFrom<GameSplit>("train", "heldOut");
const anyOptions = fc.record({
  size: fc.integer({ min: 3, max: 12 }),
  obstacles: fc.double({ min: 0, max: 0.5, noNaN: true }),
});

describe("a task", () => {
  it("has a start and a goal that are free, different and connected by a path that fits; no key gives another split's board", () => {
    fc.assert(
      fc.property(anyOptions, anySplit, fc.nat(), (options, split, seed) => {
        const { board, start } = drawTask(options, split, rootKey(seed));
        expect(board.walls).toMatch(/^[.#]+$/);
        expect(board.walls).toHaveLength(options.size ** 2);
        expect(isFree(board, start) && isFree(board, board.goal)).toBe(true);
        expect(distancesTo(board)[start]).toBeGreaterThan(0);
        expect(distancesTo(board)[start]).toBeLessThanOrEqual(longestPath(options.size));
        expect(splitOf(board)).toBe(split);
      }),
    );
  });

  it("has the paper's walls and path lengths", () => {
    const walls = many.reduce((sum, { board }) => sum + board.walls.replaceAll(".", "").length, 0);
    const lengths = many.reduce((sum, { board, start }) => sum + (distancesTo(board)[start] ?? 0), 0);
    // Boards with fewer walls are more often connected: .22 becomes about .21. The standard error is .002.
    expect(walls / (many.length * 100)).toBeCloseTo(0.21, 1);
    // 7.5 over 100,000 boards, standard deviation 4.4, so a standard error of .18 here.
    expect(lengths / many.length).toBeGreaterThan(7);
    expect(lengths / many.length).toBeLessThan(8);
  });

  it("is rejected if walls leave no path", () => {
    expect(() => drawTask({ size: 3, obstacles: 1 }, "train", rootKey(1))).toThrow(TroupeError);
    expect(() => drawTask({ size: 3, obstacles: 1 }, "train", rootKey(1))).toThrow(/use fewer obstacles/);
  });
});

describe("a split", () => {
  it("holds out 3 of 16 boards, and keeps 1 of 16 for validation", () => {
    const moved = many.map(({ board }) => splitOf({ ...board, goal: (board.goal + 1) % 100 }));
    const share = (split: GameSplit) => moved.filter((found) => found === split).length / moved.length;
    // Binomial over 600: standard errors .016 and .01.
    expect(Math.abs(share("heldOut") - 3 / 16)).toBeLessThan(0.045);
    expect(Math.abs(share("validation") - 1 / 16)).toBeLessThan(0.03);
  });

  it("has tasks at every size, even on boards without walls", () => {
    for (let size = 3; size <= 26; size++) {
      for (const split of ["train", "heldOut"] as const) {
        expect(splitOf(drawTask({ size, obstacles: 0 }, split, rootKey(size)).board)).toBe(split);
      }
    }
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
