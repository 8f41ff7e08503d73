/** Eight Queens: a team completes a board so that no queen attacks another (named by AT-GRPO's repository, PettingLLMs). */
import { childKey, drawInt, type Generator, generatorOf, type Key, shuffled } from "../../random.ts";
import type { Demonstration, SeatDescription } from "../environment.ts";
import type { Game, GameDefinition } from "../game.ts";
import { demonstrate, type Demonstrator } from "../placing/demonstrations.ts";
import { endTurn, outcomeOf, startState, stepState } from "../placing/rules.ts";
import { type Seat, seatOf } from "../planning/seats.ts";
import { outputMayBeWrong } from "../programs/seat.ts";
import {
  completionsOf,
  contains,
  drawTask,
  nearestCompletion,
  queensOptions,
  type QueensOptions,
  type QueensTask,
  queensTaskSchema,
} from "./generator.ts";
import {
  attackers,
  boardOf,
  columnOf,
  columnsOf,
  longestPlan,
  notationWords,
  placementOf,
  rowOf,
  writeObservation,
  writePlan,
} from "./notation.ts";
import { queensRules, type QueensState, renderState } from "./rules.ts";

// Solved examples for a supervised warm start, from positions of training boards.

/** The examples of one training board, one for each position. */
export function demonstrateBoard(
  options: QueensOptions,
  key: Key,
  seats: readonly string[],
): Demonstration[] {
  const task = drawTask(options, "train", childKey(key, "task"));
  const generator = generatorOf(childKey(key, "positions"));
  const demonstrator = demonstratorFor(options, task, generator);
  return Array.from({ length: options.demonstrations.positionsPerBoard }, () =>
    demonstrate(options.demonstrations, demonstrator, seats, generator),
  );
}

/** Queens that prevent a solution are removed, then the open rows are filled from the top. */
export function solvingPlan(task: QueensTask, grid: string, solution: string): number[] {
  const rows = Array.from(grid, (_, row) => row);
  const wrong = rows.filter((row) => grid[row] !== "." && grid[row] !== solution[row]);
  const missing = rows.filter((row) => grid[row] !== solution[row]);
  const columns = columnsOf(solution);
  return [
    ...wrong.map((row) => placementOf(task.size, row, -1)),
    ...missing.map((row) => placementOf(task.size, row, columns[row] ?? 0)),
  ];
}

function demonstratorFor(options: QueensOptions, task: QueensTask, generator: Generator): Demonstrator {
  const { size, given } = task;
  return {
    position(kind) {
      if (kind === "given") return given;
      const begun = begunPosition(task, generator);
      return kind === "begun" ? begun : withMistake(task, begun, generator);
    },
    plan(grid) {
      const { solution } = nearestCompletion(task, grid);
      const right = Array.from(grid, (mark, row) => (mark === solution[row] ? mark : ".")).join("");
      return solvingPlan(task, grid, anyCompletion(task, right, generator));
    },
    refused(grid) {
      const open = squares(grid);
      const square = open[drawInt(generator, Math.max(1, open.length))];
      return square === undefined ? null : placementOf(size, ...square);
    },
    changed(placement) {
      const steps = 1 + drawInt(generator, size - 1);
      const column = (columnOf(size, placement) + steps + size) % size;
      return placementOf(size, rowOf(size, placement), column);
    },
    observe: (seat, seen) => writeObservation(seat, { given, ...seen }),
    write: (plan) => writePlan(options.plan, size, plan),
  };
}

function anyCompletion(task: QueensTask, board: string, generator: Generator): string {
  const fitting = completionsOf(task).filter((solution) => contains(solution, board));
  return fitting[drawInt(generator, Math.max(1, fitting.length))] ?? board;
}

/** Places a solution's queens in some of the open rows. */
function begunPosition(task: QueensTask, generator: Generator): string {
  const solution = anyCompletion(task, task.given, generator);
  const open = Array.from(task.given, (_, row) => row).filter((row) => task.given[row] === ".");
  const filled = new Set(shuffled(generator, open).slice(0, drawInt(generator, open.length)));
  return Array.from(task.given, (mark, row) => (filled.has(row) ? solution[row] : mark)).join("");
}

/** Adds a queen that nothing attacks but that leaves no solution; the same board if there is no such square. */
function withMistake(task: QueensTask, grid: string, generator: Generator): string {
  const completions = completionsOf(task);
  const free = squares(grid).filter(([row, column]) => attackers(columnsOf(grid), row, column).length === 0);
  const mistakes = free
    .map(([row, column]) => withQueen(grid, row, column))
    .filter((board) => !completions.some((solution) => contains(solution, board)));
  return mistakes[drawInt(generator, Math.max(1, mistakes.length))] ?? grid;
}

/** The squares of the open rows. */
function squares(grid: string): [row: number, column: number][] {
  const rows = Array.from(grid, (_, row) => row);
  return rows
    .filter((row) => grid[row] === ".")
    .flatMap((row) => rows.map((column): [number, number] => [row, column]));
}

function withQueen(grid: string, row: number, column: number): string {
  return boardOf(columnsOf(grid).map((old, at) => (at === row ? column : old)));
}

// Instructions and input of a proposer that writes programs.

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

export const eightQueens: GameDefinition<QueensOptions> = {
  name: "eight-queens",
  summary: "A proposer proposes squares for queens, a planner checks them and completes the board.",
  options: queensOptions,
  create: createEightQueens,
};

export function createEightQueens(options: QueensOptions): Game<QueensTask, QueensState> {
  const { size, plan } = options;
  return {
    name: eightQueens.name,
    seats: seatDescriptions(options),
    words: notationWords(size),
    // The proposer is not summable: it is rewarded for the same proposal again until it is followed.
    summable: ["planner"],
    taskSchema: queensTaskSchema,
    task: (split, key) => drawTask(options, split, key),
    start: (task) => startState(queensRules, task),
    observe: ({ task: { given }, grid, refused, proposed }, seat) =>
      writeObservation(seatOf(eightQueens.name, seat), { given, grid, refused, proposed }),
    step: (state, actions) => stepState(queensRules, state, actions),
    endTurn,
    outcome: (state) => outcomeOf(queensRules, state),
    demonstrations: (key, seats) => demonstrateBoard(options, key, seats),
    render: renderState,
    ...queensPrograms(options),
    solve: ({ task, grid }) =>
      writePlan(plan, size, solvingPlan(task, grid, nearestCompletion(task, grid).solution)),
  };
}

function seatDescriptions({ size, plan, programs }: QueensOptions): Record<Seat, SeatDescription> {
  const rules =
    `The board has ${size} rows and ${size} columns; in the end each row holds one queen, and no queen may stand in the ` +
    `column or on a diagonal of another. A square is a column letter and a row number: a1 is the top left one. c4 places ` +
    `a queen in column c of row 4, or moves the one that you placed there; x4 takes it off. The first queens are given and ` +
    `stay. A queen that is attacked is refused, which ends a plan and takes off the queens you placed that attack it; "refused" names the last one.`;
  const end = `End with one line that has only squares, like this: ${plan === "steps" ? "r4 c4 r5 a5" : "c4 a5"}`;
  const wrong = programs === undefined ? "Proposals may be wrong." : outputMayBeWrong;
  const maxTokens = longestPlan(plan, size);
  return {
    proposer: {
      purpose: "Proposes squares for the queens of the open rows.",
      prompt: `You are the proposer of a team that places queens. ${rules} Propose squares for the open rows. ${end}`,
      maxTokens,
    },
    planner: {
      purpose: "Reads the board and the proposed squares, if there are any, and places the queens.",
      prompt: `You are the planner of a team that places queens. ${rules} Fill the open rows. ${wrong} ${end}`,
      maxTokens,
      repeats: true,
    },
  };
}
