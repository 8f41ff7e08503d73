/** The rules of Sudoku: what may be entered, and what an entry is worth. */
import { outside } from "../placing/read.ts";
import type { Placed, PlacingGame, PlacingState } from "../placing/rules.ts";
import type { SudokuTask } from "./generate.ts";
import { digitsOf, gridOf } from "./grid.ts";
import { layoutOf } from "./layout.ts";
import { cellOf, digitOf, readEntries } from "./notation.ts";

export type SudokuState = PlacingState<SudokuTask>;

export const sudokuRules: PlacingGame<SudokuTask> = {
  name: "sudoku",
  begin: ({ clues }) => clues,
  whole: ({ clues }) => openCells(clues),
  value: valueOf,
  isSolved: ({ solution }, grid) => grid === solution,
  read: ({ size }, text) => readEntries(text, size),
  place: enter,
};

function openCells(grid: string): number {
  let open = 0;
  for (const mark of grid) if (mark === ".") open++;
  return open;
}

/** Entries that agree with the solution minus entries that do not. */
function valueOf({ clues, solution }: SudokuTask, grid: string): number {
  let value = 0;
  for (let cell = 0; cell < grid.length; cell++) {
    if (clues[cell] !== "." || grid[cell] === ".") continue;
    value += grid[cell] === solution[cell] ? 1 : -1;
  }
  return value;
}

/** Enters one after the other until one is refused, which ends the plan: refusals are not to be guessed by. */
function enter(task: SudokuTask, grid: string, entries: readonly number[]): Placed {
  const { size, solution } = task;
  const digits = digitsOf(grid);
  let open = openCells(grid);
  let changes = 0;
  const ended = (problem: string | undefined, refused: number | null): Placed => ({
    grid: gridOf(digits),
    changes,
    problem,
    refused,
  });
  for (const entry of entries) {
    if (open === 0 && gridOf(digits) === solution) return ended("went on after the solution", null);
    const problem = refusal(task, digits, entry);
    if (problem !== undefined) return ended(problem, entry === outside ? null : entry);
    const cell = cellOf(size, entry);
    const [old, digit] = [digits[cell] ?? 0, digitOf(size, entry)];
    if (old === digit) continue;
    open += (digit === 0 ? 1 : 0) - (old === 0 ? 1 : 0);
    digits[cell] = digit;
    changes++;
  }
  return ended(undefined, null);
}

/** Why an entry cannot be made; undefined where it can. */
function refusal({ size, clues }: SudokuTask, digits: Uint8Array, entry: number): string | undefined {
  const { names, peers } = layoutOf(size);
  if (entry === outside) return `cells are a1 to ${names.at(-1)}, digits 1 to ${size}, 0 empties`;
  const cell = cellOf(size, entry);
  const digit = digitOf(size, entry);
  if (clues[cell] !== ".") return digits[cell] === digit ? undefined : `${names[cell]} is a clue`;
  if (digit === 0) return undefined;
  for (const peer of peers[cell] ?? []) {
    if (digits[peer] === digit) return `${names[cell]}=${digit} clashes with ${names[peer]}`;
  }
  return undefined;
}
