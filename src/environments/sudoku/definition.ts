/** Sudoku: a team fills a grid whose clues have one solution (AT-GRPO, arXiv 2510.11062). */
import type { SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { endTurn, outcomeOf, startState, stepState } from "../placing/rules.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import { demonstratePuzzle } from "./demonstrations.ts";
import { drawTask, type SudokuTask } from "./generate.ts";
import { layoutOf } from "./layout.ts";
import { longestPlan, notationWords, writeObservation, writePlan } from "./notation.ts";
import { clueRange, type SudokuOptions, sudokuOptions } from "./options.ts";
import { sudokuPrograms } from "./programs.ts";
import { renderState } from "./render.ts";
import { sudokuRules, type SudokuState } from "./rules.ts";
import { solvingPlan } from "./solver.ts";
import { sudokuTaskSchema } from "./task.ts";

export const sudoku: GameDefinition<SudokuOptions> = {
  name: "sudoku",
  summary: "A proposer reads a Sudoku grid and proposes entries, a planner checks them and fills the grid.",
  options: sudokuOptions,
  create: createSudoku,
};

export function createSudoku(options: SudokuOptions): Game<SudokuTask, SudokuState> {
  const { size, plan } = options;
  const puzzles = { size, clues: clueRange(size, options.clues) };
  return {
    name: sudoku.name,
    seats: seatDescriptions(options),
    words: notationWords(size),
    // The proposer is not summable: it is rewarded for the same proposal again until it is followed.
    summable: ["planner"],
    taskSchema: sudokuTaskSchema,
    task: (split, key) => drawTask(puzzles, split, key),
    start: (task) => startState(sudokuRules, task),
    observe: ({ task, grid, refused, proposed }, seat) =>
      writeObservation(seatOf(sudoku.name, seat), { size, clues: task.clues, grid, refused, proposed }),
    step: (state, actions) => stepState(sudokuRules, state, actions),
    endTurn,
    outcome: (state) => outcomeOf(sudokuRules, state),
    demonstrations: (key, seats) => demonstratePuzzle(options, key, seats),
    render: renderState,
    ...sudokuPrograms(options),
    solve: ({ task, grid }) => writePlan(plan, size, solvingPlan(task, grid)),
  };
}

function seatDescriptions({ size, plan, programs }: SudokuOptions): Record<Seat, SeatDescription> {
  const { boxRows, boxColumns } = layoutOf(size);
  const rules =
    `The grid has ${size} rows, ${size} columns and boxes of ${boxRows} rows and ${boxColumns} columns; each holds the digits ` +
    `1 to ${size} once. A cell is a column letter and a row number: a1 is the top left cell, b1 is to the right of it. ` +
    `b1=2 says that 2 stands in b1. Clues cannot be changed; "filled" was entered before and may be wrong: b1=0 empties ` +
    `b1 again. An entry that clashes ends a plan, and takes the entries it clashes with off; "refused" names the last one that did.`;
  const end = `End with one line that has only entries, like this: ${plan === "steps" ? "b1 b1=2 d1 d1=4" : "b1=2 d1=4"}`;
  const wrong = programs === undefined ? "Proposed entries may be wrong." : outputMayBeWrong;
  const maxTokens = longestPlan(plan, size);
  return {
    proposer: {
      purpose: "Proposes entries for the open cells.",
      prompt: `You are the proposer of a Sudoku team. ${rules} Propose entries for the open cells, the surest first. ${end}`,
      maxTokens,
    },
    planner: {
      purpose: "Reads the grid and the proposed entries, if there are any, and fills the grid.",
      prompt: `You are the planner of a Sudoku team. ${rules} Fill the open cells. ${wrong} ${end}`,
      maxTokens,
      repeats: true,
    },
  };
}
