/** Instructions and input of a proposer that writes programs. */
import type { Game } from "../game.ts";
import type { SudokuTask } from "./generate.ts";
import { digitsOf } from "./grid.ts";
import { layoutOf } from "./layout.ts";
import type { SudokuOptions } from "./options.ts";
import type { SudokuState } from "./rules.ts";

export function sudokuPrograms({
  size,
  programs,
}: SudokuOptions): Pick<Game<SudokuTask, SudokuState>, "programs"> {
  if (programs === undefined) return {};
  const { boxRows, boxColumns } = layoutOf(size);
  const task =
    `A Sudoku grid has ${size} rows, ${size} columns and boxes of ${boxRows} rows and ${boxColumns} columns; each holds the ` +
    `digits 1 to ${size} once. "clues" has the given digits by row, 0 where there is none; there is exactly one solution. ` +
    `"grid" also has the digits entered so far, which may be wrong. Print the rows of the solution as one list, like ` +
    `print(rows) does, in one line.`;
  return {
    programs: {
      writer: "proposer",
      reader: "planner",
      task,
      input: ({ task: { clues }, grid }) => ({ clues: rowsOf(size, clues), grid: rowsOf(size, grid) }),
      limits: programs,
    },
  };
}

function rowsOf(size: number, grid: string): number[][] {
  const digits = Array.from(digitsOf(grid));
  return Array.from({ length: size }, (_, row) => digits.slice(row * size, (row + 1) * size));
}
