/** The rules of Eight Queens: where a queen may be placed, and the value of a board. */
import { outside, type ReadPlacements } from "../placing/read.ts";
import type { Placed, PlacingGame, PlacingState } from "../placing/rules.ts";
import { lastList } from "../planning/lists.ts";
import { nearestCompletion, type QueensTask } from "./generator.ts";
import {
  attackers,
  boardOf,
  columnOf,
  columnsOf,
  letterOf,
  placementOf,
  readQueens,
  rowOf,
} from "./notation.ts";

// Plans in the notation of PettingLLMs (AT-GRPO's code, `a054fb1`): the columns of all rows, "[0, 4, 7, 5, 2, 6, 1,
// 3]", from 0. Columns from 1 are accepted too, and lists without brackets at the end of a text. They are converted to
// placements, so that they are rewarded and rejected like these.

const list =
  /\[\s{0,40}-?\d{1,3}(?:[\s,]{1,40}-?\d{1,3}){3,30}[\s,]{0,40}\]|(?:\d{1,3}[ ,]{1,3}){3,30}\d{1,3}(?=[\s`*.)\]}]*$)/g;

/** The last plan of the text, as a list or in our own notation. */
export function readPlan(task: QueensTask, grid: string, text: string): ReadPlacements {
  const { size } = task;
  const found = lastList(text, list, (written) => placementsOf(task, grid, written));
  if (found === undefined || readQueens(found.after, size).wellFormed) return readQueens(text, size);
  return { items: found.list, wellFormed: found.ends };
}

/**
 * The placements that turn the current board into the written one: misplaced queens are removed first, so that the
 * order of the rows does not matter. A list that moves a given queen or leaves the board is rejected as a whole.
 */
function placementsOf({ size, given }: QueensTask, grid: string, written: string): number[] | undefined {
  const numbers = written.match(/-?\d+/g)?.map(Number) ?? [];
  if (numbers.length !== size) return undefined;
  const first = numbers.includes(0) ? 0 : 1;
  const columns = numbers.map((number) => number - first);
  if (columns.some((column) => column < 0 || column >= size)) return [outside];
  const old = columnsOf(grid);
  const changed = [...columns.keys()].filter((row) => old[row] !== columns[row]);
  const placement = (row: number): number => placementOf(size, row, columns[row] ?? 0);
  const fixed = changed.find((row) => given[row] !== ".");
  if (fixed !== undefined) return [placement(fixed)];
  const takenOff = changed.filter((row) => (old[row] ?? -1) >= 0).map((row) => placementOf(size, row, -1));
  return [...takenOff, ...changed.map(placement)];
}

export type QueensState = PlacingState<QueensTask>;

export const queensRules: PlacingGame<QueensTask> = {
  name: "eight-queens",
  begin: ({ given }) => given,
  whole: ({ given }) => openRows(given),
  // Queens that rule out every solution are wrong, even if no queen attacks them.
  value: (task, grid) => nearestCompletion(task, grid).value,
  // Queens that attack each other are never on the board together.
  isSolved: (_, grid) => openRows(grid) === 0,
  read: readPlan,
  place,
};

function openRows(board: string): number {
  let open = 0;
  for (const mark of board) if (mark === ".") open++;
  return open;
}

/**
 * Places one after the other; a rejected placement ends the plan, so that rejections cannot be used for guessing. If
 * only placed queens attack it, one of them is wrong, and they are removed too, so that a team is not stuck with a
 * mistake.
 */
function place(task: QueensTask, grid: string, placements: readonly number[]): Placed {
  const columns = columnsOf(grid);
  let open = openRows(grid);
  let changes = 0;
  const ended = (problem: string | undefined, refused: number | null): Placed => ({
    grid: boardOf(columns),
    changes,
    problem,
    refused,
  });
  for (const placement of placements) {
    if (open === 0) return ended("continued after the solution", null);
    if (placement === outside) return ended(outsideProblem(task.size), null);
    const [row, column] = [rowOf(task.size, placement), columnOf(task.size, placement)];
    const old = columns[row] ?? -1;
    if (old === column) continue;
    const refusal = refusalOf(task, columns, row, column);
    for (const wrong of refusal?.takenOff ?? []) columns[wrong] = -1;
    if (refusal !== undefined) return ended(refusal.problem, placement);
    open += (column < 0 ? 1 : 0) - (old < 0 ? 1 : 0);
    columns[row] = column;
    changes++;
  }
  return ended(undefined, null);
}

function outsideProblem(size: number): string {
  return `squares are a1 to ${letterOf(size - 1)}${size}; x1 takes row 1's queen off`;
}

interface Refusal {
  readonly problem: string;
  /** Rows. */
  readonly takenOff: readonly number[];
}

/** Why a queen cannot be placed or removed; undefined: it can. */
function refusalOf(
  { given }: QueensTask,
  columns: readonly number[],
  row: number,
  column: number,
): Refusal | undefined {
  if (given[row] !== ".") return { problem: `the queen of row ${row + 1} is given`, takenOff: [] };
  if (column < 0) return undefined;
  const attacking = attackers(columns, row, column);
  if (attacking.length === 0) return undefined;
  const nameOf = (other: number): string => `${letterOf(columns[other] ?? 0)}${other + 1}`;
  const what = `${letterOf(column)}${row + 1} is attacked from`;
  const fixed = attacking.find((other) => given[other] !== ".");
  if (fixed !== undefined) return { problem: `${what} ${nameOf(fixed)}`, takenOff: [] };
  return { problem: `${what} ${attacking.map(nameOf).join(" ")}, taken off too`, takenOff: attacking };
}

// Draws a board for the terminal.

/** Given, placed and proposed queens, with coordinates and a legend. */
export function renderState({ task, grid, proposed }: QueensState): string {
  const { size, given } = task;
  const columns = columnsOf(grid);
  const proposals = new Set(
    (proposed ?? []).map((placement) => rowOf(size, placement) * size + columnOf(size, placement)),
  );
  const rows = columns.map((queen, row) => {
    const marks = columns.map((_, column) => {
      if (queen === column) return given[row] === "." ? "♕" : "♛";
      return proposals.has(row * size + column) ? "+" : "·";
    });
    return `${String(row + 1).padStart(2)} ${marks.join(" ")}`;
  });
  const letters = columns.map((_, column) => letterOf(column));
  return [`   ${letters.join(" ")}`, ...rows, "   ♛ given   ♕ placed   + proposed"].join("\n");
}
