/** Puzzles for tests, hand-written or random, and the symmetries of Sudoku. */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import type { Game } from "../game.ts";
import type { GameSplit } from "../tasks.ts";
import { createSudoku } from "./definition.ts";
import { drawTask, sudokuOptions, type SudokuTask } from "./generator.ts";
import { digitsOf, gridOf, type Layout, layoutOf, type Size, uniqueSolution } from "./grid.ts";
import type { SudokuState } from "./rules.ts";

/** Rows separated by spaces; "." is an open cell. */
export function taskOf(drawing: string): SudokuTask {
  const clues = drawing.replaceAll(/\s/g, "");
  const size = Math.sqrt(clues.length);
  const solution = uniqueSolution(layoutOf(size), digitsOf(clues));
  if (solution === undefined) throw new Error(`${drawing} does not have one solution`);
  return { size, clues, solution: gridOf(solution) };
}

export function sudokuEnvironment(options: object = {}): Game<SudokuTask, SudokuState> {
  return createSudoku(sudokuOptions.parse(options));
}

export const usualClues: Readonly<Record<Size, { least: number; most: number }>> = {
  4: { least: 5, most: 8 },
  6: { least: 12, most: 18 },
  9: { least: 30, most: 40 },
};

export function anyTask(sizes: readonly Size[], split: GameSplit = "train"): fc.Arbitrary<SudokuTask> {
  return fc
    .record({ seed: fc.nat(), size: fc.constantFrom(...sizes) })
    .map(({ seed, size }) =>
      drawTask({ size, clues: usualClues[size] }, split, keyAt(rootKey(seed), "test")),
    );
}

/** Where each cell of the new grid comes from, and what each digit becomes. */
export interface Symmetry {
  readonly cells: readonly number[];
  readonly digits: readonly number[];
}

export function applied({ cells, digits }: Symmetry, grid: Uint8Array): Uint8Array {
  return Uint8Array.from(cells, (cell) => digits[grid[cell] ?? 0] ?? 0);
}

/** All orders of a grid's lines that keep groups of `depth` lines together: [ways][size]. */
function lineOrders(size: number, depth: number): number[][] {
  const bands = permutations(Array.from({ length: size / depth }, (_, band) => band));
  const within = permutations(Array.from({ length: depth }, (_, line) => line));
  const inBands = (order: readonly number[]): number[][] =>
    order.reduce<number[][]>(
      (lines, band) =>
        lines.flatMap((before) =>
          within.map((ways) => [...before, ...ways.map((line) => band * depth + line)]),
        ),
      [[]],
    );
  return bands.flatMap(inBands);
}

function cellsOf(
  { size }: Layout,
  rows: readonly number[],
  columns: readonly number[],
  transposed: boolean,
): number[] {
  return rows.flatMap((row) =>
    columns.map((column) => (transposed ? column * size + row : row * size + column)),
  );
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  );
}

/** A random symmetry of grids of the size; only square boxes can be transposed. */
export function anySymmetry(size: number): fc.Arbitrary<Symmetry> {
  const layout = layoutOf(size);
  const order = (depth: number): fc.Arbitrary<number[]> =>
    fc
      .tuple(
        shuffle(size / depth),
        fc.array(shuffle(depth), { minLength: size / depth, maxLength: size / depth }),
      )
      .map(([bands, within]) =>
        bands.flatMap((band, place) => (within[place] ?? []).map((line) => band * depth + line)),
      );
  const square = layout.boxRows === layout.boxColumns;
  return fc
    .tuple(order(layout.boxRows), order(layout.boxColumns), fc.boolean(), shuffle(size))
    .map(([rows, columns, turn, names]) => ({
      cells: cellsOf(layout, rows, columns, turn && square),
      digits: [0, ...names.map((name) => name + 1)],
    }));
}

function shuffle(count: number): fc.Arbitrary<number[]> {
  const items = Array.from({ length: count }, (_, item) => item);
  return fc.shuffledSubarray(items, { minLength: count, maxLength: count });
}

/** All 128 ways to arrange the cells of a 4×4 grid. */
export const arrangements: readonly number[][] = [false, true].flatMap((transposed) =>
  lineOrders(4, 2).flatMap((rows) =>
    lineOrders(4, 2).map((columns) => cellsOf(layoutOf(4), rows, columns, transposed)),
  ),
);

/** The smallest equivalent 4×4 puzzle: digits are renamed in order of appearance. */
export function canonical(clues: string): string {
  let least = "";
  for (const cells of arrangements) {
    const names = new Map<string, number>();
    let text = "";
    for (const cell of cells) {
      const mark = clues[cell] ?? ".";
      if (mark !== "." && !names.has(mark)) names.set(mark, names.size + 1);
      text += mark === "." ? "." : String(names.get(mark));
    }
    if (least === "" || text < least) least = text;
  }
  return least;
}

export function openCells(grid: string): number[] {
  return Array.from(grid, (_, cell) => cell).filter((cell) => grid[cell] === ".");
}
