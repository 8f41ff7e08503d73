/** Instructions and input of a proposer that writes programs. */
import type { Game } from "../game.ts";
import { columnsOf } from "./board.ts";
import type { QueensTask } from "./generate.ts";
import type { QueensOptions } from "./options.ts";
import type { QueensState } from "./rules.ts";

export function queensPrograms({
  size,
  programs,
}: QueensOptions): Pick<Game<QueensTask, QueensState>, "programs"> {
  if (programs === undefined) return {};
  const task =
    `A board of ${size} rows and ${size} columns gets one queen in each row, so that no two share a column or a diagonal. ` +
    `"given" has the column of each row's given queen, counted from 0, or null; these stay. "queens" also has the queens ` +
    `placed so far, which may have to move. Print the columns of all rows as one list, like print(columns) does.`;
  return {
    programs: {
      writer: "proposer",
      reader: "planner",
      task,
      input: ({ task: { given }, grid }) => ({ given: columnsIn(given), queens: columnsIn(grid) }),
      limits: programs,
    },
  };
}

function columnsIn(board: string): (number | null)[] {
  return columnsOf(board).map((column) => (column < 0 ? null : column));
}
