/** Searches for exploits that are peculiar to Sudoku. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { total } from "../conformance/total.ts";
import { type Playthrough, playAll } from "../test-play.ts";
import type { SudokuTask } from "./generator.ts";
import { countSolutions, digitsOf, layoutOf } from "./grid.ts";
import { entryOf, writePlan } from "./notation.ts";
import type { SudokuState } from "./rules.ts";
import { anyTask, openCells, sudokuEnvironment, taskOf } from "./test-grids.ts";

const environment = sudokuEnvironment();

/** Half of the entries are right, so that plans make progress. */
const anyPlan = (task: SudokuTask): fc.Arbitrary<readonly number[]> => {
  const open = openCells(task.clues);
  const right = fc.constantFrom(...open).map((cell) => entryOf(task.size, cell, Number(task.solution[cell])));
  const wild = fc.nat({ max: task.size ** 2 * (task.size + 1) - 1 });
  const emptied = fc.constantFrom(...open).map((cell) => entryOf(task.size, cell, 0));
  return fc.array(fc.oneof({ weight: 4, arbitrary: right }, wild, emptied), { maxLength: 14 });
};

const anyEpisode = (most: number): fc.Arbitrary<{ task: SudokuTask; plans: (readonly number[])[] }> =>
  anyTask([4]).chain((task) =>
    fc.array(anyPlan(task), { minLength: 1, maxLength: most }).map((plans) => ({ task, plans })),
  );

/** Plays the plans until the task is solved. */
function played(task: SudokuTask, plans: readonly (readonly number[])[]): Playthrough<SudokuState> {
  return playAll(
    environment,
    environment.start(task),
    plans.map((plan) => writePlan("entries", task.size, plan)),
  );
}

describe("one action", () => {
  it("that tries all digits of a cell is stopped by the first that clashes: rejections cannot solve it", () => {
    const state = environment.start(taskOf("1... .4.. .14. ..2."));
    const open = openCells(state.grid);
    const flood = open.flatMap((cell) => [1, 2, 3, 4].map((digit) => entryOf(4, cell, digit)));
    const { state: after, rewards } = environment.step(state, { planner: writePlan("entries", 4, flood) });
    expect(after.grid).toBe(state.grid);
    expect(total(rewards["planner"])).toBe(0);
  });
});

describe("a whole episode", () => {
  it("has the score of its final grid, however it was filled", () => {
    fc.assert(
      fc.property(anyEpisode(4), ({ task, plans }) => {
        const { state } = played(task, plans);
        const entered = openCells(task.clues).filter((cell) => state.grid[cell] !== ".");
        const single = played(
          task,
          entered.map((cell) => [entryOf(task.size, cell, Number(state.grid[cell]))]),
        );
        expect(environment.outcome(single.state)).toEqual(environment.outcome(state));
      }),
    );
  });

  it("cannot be raised by a search over all short sequences on one grid", () => {
    const task = taskOf("12.4 34.2 21.3 432.");
    const start = environment.start(task);
    const alphabet = [2, 6, 10, 15].flatMap((cell) => [0, 1, 3, 4].map((digit) => entryOf(4, cell, digit)));
    let best = 0;
    const search = (state: SudokuState, depth: number, earned: number): void => {
      best = Math.max(best, earned);
      if (depth === 0) return;
      for (const entry of alphabet) {
        const next = environment.step(state, { planner: writePlan("entries", 4, [entry]) });
        if (!next.done) search(next.state, depth - 1, earned + total(next.rewards["planner"]));
      }
    };
    search(start, 3, 0);
    // At most three of four cells are right without solving.
    expect(best).toBeCloseTo(2 * (3 / 4), 9);
  });
});

describe("what the original rewarded", () => {
  const tasks = Array.from({ length: 200 }, (_, index) =>
    environment.task("train", childKey(rootKey(3), index)),
  );

  it("the prompt's own example grid solves hardly any puzzle (in the original all): clues are enforced", () => {
    const example = "1234341221434321";
    const solved = tasks.filter((task) => {
      const entries = Array.from(example, (digit, cell) => entryOf(4, cell, Number(digit)));
      const { done } = environment.step(environment.start(task), {
        planner: writePlan("entries", 4, entries),
      });
      return done;
    });
    // 1 of 288 grids: .7 of 200 expected, more than 5 once in 20,000 draws of 200.
    expect(solved.length).toBeLessThanOrEqual(5);
    for (const task of solved) expect(task.solution).toBe(example);
  });

  it("every puzzle has exactly one solution (in the original 81 % had none)", () => {
    for (const { size, clues } of tasks) {
      expect(countSolutions(layoutOf(size), digitsOf(clues), 2)).toBe(1);
    }
  });
});
