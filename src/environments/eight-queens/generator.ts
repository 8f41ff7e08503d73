/** Tasks: their options, how they are drawn, which split they belong to, and the check of one from outside. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { childKey, drawInt, generatorOf, type Key, mix32, shuffled } from "../../random.ts";
import { splitOfHash } from "../held-out.ts";
import { demonstrationShape } from "../placing/demonstrations.ts";
import { drawnAtOnce } from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import type { GameSplit } from "../tasks.ts";
import { attackers, boardOf, columnsOf, emptyRow, largestSize, planNotations } from "./notation.ts";

// The options of Eight Queens in a recipe.

export const queensOptions = z
  .strictObject({
    size: z.int().min(6).max(largestSize).default(8).describe("Rows, columns and queens."),
    given: z
      .strictObject({
        least: z
          .int()
          .min(0)
          .default(1)
          .describe("Minimum of given queens; each number between is equally likely."),
        most: z.int().min(1).default(4).describe("Maximum of given queens."),
      })
      .prefault({})
      .describe("Given queens; each number between is equally likely."),
    plan: z
      .enum(planNotations)
      .default("queens")
      .describe('Demonstrated plans: "c4 a5", or with each row first, "r4 c4 r5 a5".'),
    programs: programOptions,
    demonstrations: z
      .strictObject({
        positionsPerBoard: drawnAtOnce.describe(
          "Positions demonstrated per board; their shared prefix is computed once.",
        ),
        ...demonstrationShape,
      })
      .prefault({})
      .describe("Warm-start examples."),
  })
  .superRefine(({ size, given: { least, most } }, context) => {
    const report = (key: "least" | "most", message: string): void =>
      context.addIssue({ code: "custom", path: ["given", key], message });
    if (most >= size) report("most", `less than size, which is ${size}`);
    else if (least > most && most > 0) report("least", `at most given.most, which is ${most}`);
  });

export type QueensOptions = z.output<typeof queensOptions>;

// All full boards without attacking queens: 4, 40, 92, 352 and 724 of sizes 6 to 10.

const known = new Map<number, readonly string[]>();

/** Boards of the size, in alphabetical order. Computed once. */
export function solutionsOf(size: number): readonly string[] {
  const made = known.get(size) ?? fill([], size).map(boardOf);
  known.set(size, made);
  return made;
}

/** Every way to fill the rows below those that are filled. */
function fill(columns: readonly number[], size: number): number[][] {
  if (columns.length === size) return [[...columns]];
  return Array.from({ length: size }, (_, column) => column)
    .filter((column) => attackers(columns, columns.length, column).length === 0)
    .flatMap((column) => fill([...columns, column], size));
}

/** The solutions that agree with what is given. Cached for the lifetime of the task object. */
export function completionsOf(task: { readonly given: string }): readonly string[] {
  const remembered = completions.get(task);
  if (remembered !== undefined) return remembered;
  const { given } = task;
  const agree = solutionsOf(given.length).filter((solution) => contains(solution, given));
  completions.set(task, agree);
  return agree;
}

const completions = new WeakMap<object, readonly string[]>();

export function contains(solution: string, board: string): boolean {
  for (let row = 0; row < board.length; row++) {
    if (board[row] !== "." && board[row] !== solution[row]) return false;
  }
  return true;
}

/**
 * The solution nearest to a board, and the board's value: queens that agree with it minus those that do not; given
 * queens do not count. Ties go to the first.
 */
export function nearestCompletion(
  task: { readonly given: string },
  board: string,
): { readonly solution: string; readonly value: number } {
  let best = { solution: "", value: -Infinity };
  for (const solution of completionsOf(task)) {
    const value = agreement(solution, task.given, board);
    if (value > best.value) best = { solution, value };
  }
  return best;
}

function agreement(solution: string, given: string, board: string): number {
  let value = 0;
  for (let row = 0; row < board.length; row++) {
    if (board[row] === "." || given[row] !== ".") continue;
    value += board[row] === solution[row] ? 1 : -1;
  }
  return value;
}

/** The smallest of a board's eight rotations and reflections. */
export function canonicalBoard(board: string): string {
  const forms: string[] = [];
  let turned = columnsOf(board);
  for (let turn = 0; turn < 4; turn++) {
    turned = mirrored(transposed(turned));
    forms.push(boardOf(turned), boardOf(mirrored(turned)));
  }
  return forms.reduce((least, form) => (form < least ? form : least));
}

function mirrored(columns: readonly number[]): number[] {
  return columns.map((column) => (column < 0 ? -1 : columns.length - 1 - column));
}

/** Transposes the board. */
function transposed(columns: readonly number[]): number[] {
  return columns.map((_, row) => columns.indexOf(row));
}

// Draws boards with a few queens of a solution, to be completed.

export type QueensTask = {
  readonly size: number;
  /** One character for each row: a column's letter, or "." (`board.ts`). */
  readonly given: string;
};

export interface BoardOptions {
  readonly size: number;
  /** Given queens: each number from least to most is equally likely. */
  readonly given: { readonly least: number; readonly most: number };
}

const mostDraws = 2000;

/** @throws TroupeError `bad_recipe` if the options leave practically no board of the split. */
export function drawTask({ size, given }: BoardOptions, split: GameSplit, key: Key): QueensTask {
  const generator = generatorOf(childKey(key, split));
  const solutions = solutionsOf(size);
  const rows = Array.from({ length: size }, (_, row) => row);
  for (let draw = 0; draw < mostDraws; draw++) {
    const queens = given.least + drawInt(generator, given.most - given.least + 1);
    const solution = columnsOf(solutions[drawInt(generator, solutions.length)] ?? "");
    const kept = new Set(shuffled(generator, rows).slice(0, queens));
    const board = boardOf(solution.map((column, row) => (kept.has(row) ? column : -1)));
    if (splitOf(board) === split) return { size, given: board };
  }
  const asked = `size ${size}, ${given.least} to ${given.most} given`;
  throw new TroupeError(
    "bad_recipe",
    `eight-queens: no ${split === "train" ? "training" : "held-out"} board in ${mostDraws} draws (${asked}); give more queens, or use a larger board`,
  );
}

/** A quarter of all boards is held out; a board and its rotations and reflections are in the same split. */
export function splitOf(given: string): GameSplit {
  let hash = 0x811c9dc5;
  for (const mark of canonicalBoard(given)) hash = Math.imul(hash ^ (mark.codePointAt(0) ?? 0), 0x01000193);
  return splitOfHash(mix32(hash));
}

// Checks a task from outside.

export const queensTaskSchema = z
  .strictObject({ size: z.int().min(4).max(largestSize), given: z.string() })
  .refine(({ size, given }) => given.length === size, "given: one character for each row")
  .refine(
    (task) => task.given.includes(emptyRow) && completionsOf(task).length > 0,
    "given: a part of a solution, each queen as the letter of its column and each open row as a dot",
  );
