/** Sudoku: a team fills a grid whose clues have one solution (AT-GRPO, arXiv 2510.11062). */
import { childKey, drawInt, type Generator, generatorOf, type Key } from "../../random.ts";
import type { Demonstration, SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { demonstrate, type Demonstrator } from "../placing/demonstrations.ts";
import { endTurn, outcomeOf, startState, stepState } from "../placing/rules.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import {
  clueRange,
  drawTask,
  sudokuOptions,
  type SudokuOptions,
  type SudokuTask,
  sudokuTaskSchema,
} from "./generator.ts";
import { candidateSets, digitsOf, gridOf, layoutOf } from "./grid.ts";
import {
  cellOf,
  digitOf,
  entryOf,
  longestPlan,
  notationWords,
  writeObservation,
  writePlan,
} from "./notation.ts";
import { renderState, solvingPlan, sudokuRules, type SudokuState } from "./rules.ts";

// Solved examples for a supervised warm start, from positions of training puzzles.

/** The examples of one training puzzle, one for each position. */
export function demonstratePuzzle(
  options: SudokuOptions,
  key: Key,
  seats: readonly string[],
): Demonstration[] {
  const { size, demonstrations } = options;
  const task = drawTask({ size, clues: clueRange(size, options.clues) }, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "positions"));
  const demonstrator = demonstratorFor(options, task, generator);
  return Array.from({ length: demonstrations.positionsPerPuzzle }, () =>
    demonstrate(demonstrations, demonstrator, seats, generator),
  );
}

function demonstratorFor(options: SudokuOptions, task: SudokuTask, generator: Generator): Demonstrator {
  const { size, clues } = task;
  const order = options.demonstrations.order === "random" ? generator : undefined;
  return {
    position(kind) {
      if (kind === "given") return clues;
      const begun = begunPosition(task, generator);
      return gridOf(kind === "begun" ? begun : withMistake(task, begun, generator));
    },
    plan: (grid) => solvingPlan(task, grid, order),
    refused(grid) {
      const cells = Array.from(grid, (_, cell) => cell).filter((cell) => grid[cell] === ".");
      const cell = cells[drawInt(generator, Math.max(1, cells.length))];
      return cell === undefined ? null : entryOf(size, cell, 1 + drawInt(generator, size));
    },
    changed(entry) {
      const steps = 1 + drawInt(generator, size - 1);
      return entryOf(size, cellOf(size, entry), ((digitOf(size, entry) - 1 + steps + size) % size) + 1);
    },
    observe: (seat, seen) => writeObservation(seat, { size, clues, ...seen }),
    write: (plan) => writePlan(options.plan, size, plan),
  };
}

/** Fills some cells, in an order of deduction. */
function begunPosition(task: SudokuTask, generator: Generator): Uint8Array {
  const plan = solvingPlan(task, task.clues, generator);
  const digits = digitsOf(task.clues);
  for (const entry of plan.slice(0, drawInt(generator, plan.length))) {
    digits[cellOf(task.size, entry)] = digitOf(task.size, entry);
  }
  return digits;
}

/** Fills one open cell with a digit that the rules allow but the solution does not have, if there is one. */
function withMistake({ size, solution }: SudokuTask, digits: Uint8Array, generator: Generator): Uint8Array {
  const candidates = candidateSets(layoutOf(size), digits);
  const mistakes = allEntries(size).filter(
    ([cell, digit]) => isCandidate(candidates, cell, digit) && String(digit) !== solution[cell],
  );
  const [cell, digit] = mistakes[drawInt(generator, Math.max(1, mistakes.length))] ?? [-1, 0];
  const changed = digits.slice();
  if (cell >= 0) changed[cell] = digit;
  return changed;
}

function allEntries(size: number): (readonly [cell: number, digit: number])[] {
  return Array.from({ length: size ** 3 }, (_, index) => [Math.floor(index / size), 1 + (index % size)]);
}

function isCandidate(candidates: Uint16Array, cell: number, digit: number): boolean {
  return (((candidates[cell] ?? 0) >> digit) & 1) === 1;
}

// Instructions and input of a proposer that writes programs.

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
