import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, keyAt, rootKey } from "../../random.ts";
import type { GameSplit } from "../tasks.ts";
import { classHash, clueRange, drawTask, splitOf } from "./generator.ts";
import { countSolutions, digitsOf, gridOf, layoutOf, uniqueSolution } from "./grid.ts";
import {
  anySymmetry,
  anyTask,
  applied,
  arrangements,
  canonical,
  sudokuEnvironment,
  usualClues,
} from "./test-grids.ts";

it("clues have defaults that fit the size and the given bound", () => {
  expect(clueRange(4, {})).toEqual({ least: 5, most: 8 });
  expect(clueRange(9, {})).toEqual({ least: 30, most: 40 });
  expect(clueRange(4, { least: 10 })).toEqual({ least: 10, most: 10 });
  expect(clueRange(6, { most: 10 })).toEqual({ least: 10, most: 10 });
});

describe("options", () => {
  it("have puzzles in both splits at their limits", () => {
    for (const [size, least, most] of [
      [4, 4, 14],
      [6, 9, 35],
      [9, 24, 80],
    ] as const) {
      for (const clues of [least, most]) {
        const environment = sudokuEnvironment({ size, clues: { least: clues, most: clues } });
        for (const split of ["train", "heldOut"] as const) {
          expect(environment.task(split, rootKey(clues)).clues.replaceAll(".", "")).toHaveLength(clues);
        }
      }
    }
  });
});

it("a puzzle has the requested number of clues, and one solution that agrees with them", () => {
  fc.assert(
    fc.property(anyTask([4, 4, 4, 6, 9]), ({ size, clues, solution }) => {
      const count = clues.replaceAll(".", "").length;
      expect(count).toBeGreaterThanOrEqual(usualClues[size as 4].least);
      expect(count).toBeLessThanOrEqual(usualClues[size as 4].most);
      const layout = layoutOf(size);
      expect(uniqueSolution(layout, digitsOf(clues))).toEqual(digitsOf(solution));
      for (const unit of layout.units) expect(new Set(unit.map((cell) => solution[cell])).size).toBe(size);
      expect(Array.from(clues).every((mark, cell) => mark === "." || mark === solution[cell])).toBe(true);
    }),
    { numRuns: 60 },
  );
});

it("every number of clues is equally likely", () => {
  const counts = new Map<number, number>();
  for (let index = 0; index < 800; index++) {
    const { clues } = drawTask({ size: 4, clues: usualClues[4] }, "train", childKey(rootKey(3), index));
    const count = clues.replaceAll(".", "").length;
    counts.set(count, (counts.get(count) ?? 0) + 1);
  }
  expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual([5, 6, 7, 8]);
  // 200 each, with a standard error of 12.
  for (const count of counts.values()) expect(Math.abs(count - 200)).toBeLessThan(50);
});

it("the number of solutions equals that of a naive search over all fillings of a small grid", () => {
  fc.assert(
    fc.property(anyTask([4]), fc.array(fc.nat({ max: 15 }), { maxLength: 2 }), ({ clues }, taken) => {
      const digits = digitsOf(clues);
      for (const cell of taken) digits[cell] = 0;
      const plain = allGrids().filter((grid) =>
        digits.every((digit, cell) => digit === 0 || digit === Number(grid[cell])),
      );
      expect(countSolutions(layoutOf(4), digits, 1000)).toBe(plain.length);
    }),
    { numRuns: 30 },
  );
});

it("there are 288 full 4×4 grids, and none if two clues clash", () => {
  expect(allGrids()).toHaveLength(288);
  expect(countSolutions(layoutOf(4), new Uint8Array(16), 1000)).toBe(288);
  expect(countSolutions(layoutOf(4), digitsOf("11.............."), 1000)).toBe(0);
});

it("too few clues are rejected", () => {
  const few = { size: 4, clues: { least: 3, most: 3 } };
  expect(() => drawTask(few, "train", rootKey(1))).toThrow(/no puzzle with 3 clues .* larger clues.least/);
});

let known: readonly string[] | undefined;

/** All full 4×4 grids, by trying every row of four different digits. */
function allGrids(): readonly string[] {
  known ??= ["", "", "", ""].reduce<string[]>(
    (grids) => grids.flatMap((grid) => rows.map((row) => grid + row).filter(isLegal)),
    [""],
  );
  return known;
}

const rows = [1, 2, 3, 4].flatMap((a) =>
  [1, 2, 3, 4].flatMap((b) =>
    [1, 2, 3, 4].flatMap((c) =>
      [1, 2, 3, 4].filter((d) => new Set([a, b, c, d]).size === 4).map((d) => `${a}${b}${c}${d}`),
    ),
  ),
);

function isLegal(grid: string): boolean {
  return layoutOf(4).units.every((unit) => {
    const digits = unit.map((cell) => grid[cell]).filter((digit) => digit !== undefined);
    return new Set(digits).size === digits.length;
  });
}

describe("the split", () => {
  it("is invariant under relabelling, rearrangement and transposition of a puzzle, at every size", () => {
    fc.assert(
      fc.property(
        anyTask([4, 6, 9]).chain((task) => anySymmetry(task.size).map((symmetry) => ({ task, symmetry }))),
        ({ task, symmetry }) => {
          const layout = layoutOf(task.size);
          const other = applied(symmetry, digitsOf(task.clues));
          // Checks the symmetries: the other puzzle has one solution too, the same one rearranged.
          expect(countSolutions(layout, other, 2)).toBe(1);
          expect(classHash(layout, other)).toBe(classHash(layout, digitsOf(task.clues)));
          expect(splitOf(layout, other)).toBe("train");
        },
      ),
      { numRuns: 60 },
    );
  });

  it("depends on the puzzle, not on the key that drew it", () => {
    fc.assert(
      fc.property(fc.constantFrom<GameSplit>("train", "heldOut"), fc.nat(), (split, seed) => {
        const { clues } = drawTask({ size: 4, clues: usualClues[4] }, split, rootKey(seed));
        expect(splitOf(layoutOf(4), digitsOf(clues))).toBe(split);
      }),
    );
  });

  it("shares no class of puzzles: the canonical forms of 1,000 drawn puzzles of each split are disjoint", () => {
    const [train, heldOut] = [drawnClasses("train"), drawnClasses("heldOut")];
    expect([...heldOut].filter((form) => train.has(form))).toEqual([]);
    // Of 2,223 classes; many are drawn several times.
    expect(train.size).toBeGreaterThan(400);
    expect(heldOut.size).toBeGreaterThan(200);
  });
});

describe("the classes of 4×4 puzzles with 4 to 8 clues", () => {
  const grids = ["1234341221434321", "1234341223414123"];

  it("are counted: every puzzle is one of two grids, up to symmetry, with cells removed", () => {
    const classes = grids.map((grid) => classesOf(grid));
    const counts = [4, 5, 6, 7, 8].map((clues) => {
      const puzzles = classes.flat().filter((puzzle) => countClues(puzzle) === clues);
      const held = puzzles.filter((puzzle) => splitOf(layoutOf(4), digitsOf(puzzle)) === "heldOut");
      return [puzzles.length, held.length];
    });
    // 13 with four clues is the known number of essentially different puzzles.
    expect(counts).toEqual([
      [13, 3],
      [96, 17],
      [376, 77],
      [711, 138],
      [1040, 202],
    ]);
  });
});

function drawnClasses(split: GameSplit): Set<string> {
  const forms = Array.from({ length: 1000 }, (_, index) => {
    const { clues } = drawTask({ size: 4, clues: usualClues[4] }, split, keyAt(rootKey(2), index));
    return canonical(clues);
  });
  return new Set(forms);
}

function countClues(puzzle: string): number {
  return puzzle.replaceAll(".", "").length;
}

/** One puzzle of each class that has the grid as its only solution: sets of clues up to the grid's own symmetries. */
function classesOf(grid: string): string[] {
  const own = arrangements.filter((cells) =>
    isRenamed(grid, Array.from(cells, (cell) => grid[cell]).join("")),
  );
  const seen = new Set<number>();
  const puzzles: string[] = [];
  for (let set = 0; set < 1 << 16; set++) {
    const puzzle = Array.from(grid, (digit, cell) => ((set >> cell) & 1 ? digit : ".")).join("");
    const clues = countClues(puzzle);
    if (clues < 4 || clues > 8 || seen.has(set)) continue;
    for (const cells of own) seen.add(imageOf(set, cells));
    if (countSolutions(layoutOf(4), digitsOf(puzzle), 2) === 1) puzzles.push(puzzle);
  }
  return puzzles;
}

function isRenamed(grid: string, other: string): boolean {
  const names = new Map<string, string>();
  return Array.from(grid).every((digit, cell) => {
    const name = names.get(digit) ?? other[cell] ?? "";
    names.set(digit, name);
    return name === other[cell];
  });
}

function imageOf(set: number, cells: readonly number[]): number {
  return cells.reduce((image, cell, place) => image | (((set >> cell) & 1) << place), 0);
}

it("grids survive conversion to numbers", () => {
  expect(gridOf(digitsOf("12.4...."))).toBe("12.4....");
});
