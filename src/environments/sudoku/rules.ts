/** The rules of Sudoku: what may be entered, and the value of a grid. */
import type { Generator } from "../../random.ts";
import { outside, type ReadPlacements } from "../placing/read.ts";
import type { Placed, PlacingGame, PlacingState } from "../placing/rules.ts";
import { lastList } from "../planning/lists.ts";
import type { SudokuTask } from "./generator.ts";
import { deductionOrder, digitsOf, gridOf, type Layout, layoutOf } from "./grid.ts";
import { cellOf, digitOf, entryOf, mostEntries, readEntries } from "./notation.ts";

// Plans in the notations of PettingLLMs (AT-GRPO's code, `a054fb1`): the whole grid as a list of rows, or a list of
// [row, column, digit], rows and columns from 0. Both are converted to entries, so that they are rewarded and rejected
// like these.

/** A cell named before in a list of entries. */
export const twice = -2;

const number = String.raw`["']?-?\d{1,9}["']?`;
const comma = String.raw`\s{0,40}(?:,\s{0,40})`;
const numbers = String.raw`\s{0,40}${number}(?:${comma}${number}){0,15}${comma}?\s{0,40}`;
const listed = String.raw`(?:\[${numbers}\]|\(${numbers}\))`;
const list = new RegExp(String.raw`\[\s{0,40}${listed}(?:${comma}${listed})*${comma}?\s{0,40}\]`, "g");

/** The last plan of the text, in one of these forms or in our own notation. */
export function readPlan(task: SudokuTask, grid: string, text: string): ReadPlacements {
  const { size } = task;
  const found = lastList(text, list, (written) => entriesOf(task, grid, written));
  if (found === undefined || readEntries(found.after, size).wellFormed) return readEntries(text, size);
  const items = found.list.slice(0, mostEntries(size));
  return { items, wellFormed: found.ends && items.length === found.list.length };
}

/** Undefined if the list has neither the shape of a grid nor that of entries. */
function entriesOf(task: SudokuTask, grid: string, written: string): number[] | undefined {
  const { size } = task;
  const rows = Array.from(
    written.matchAll(/[-\d][^[\]()]*/g),
    ([one]) => one.match(/-?\d+/g)?.map(Number) ?? [],
  );
  if (rows.length === size && rows.every((one) => one.length === size)) {
    return gridEntries(task, grid, rows.flat());
  }
  return rows.every((one) => one.length === 3) ? listedEntries(size, rows) : undefined;
}

/**
 * The entries that turn the current grid into the written one: digits to be replaced are cleared first, so that the
 * order of cells does not matter. A grid that changes a clue or has an invalid digit is rejected as a whole.
 */
function gridEntries({ size, clues }: SudokuTask, grid: string, digits: readonly number[]): number[] {
  if (digits.some((digit) => digit < 1 || digit > size)) return [outside];
  const changed = [...digits.keys()].filter((cell) => grid[cell] !== String(digits[cell]));
  const entry = (cell: number): number => entryOf(size, cell, digits[cell] ?? 0);
  const clue = changed.find((cell) => clues[cell] !== ".");
  if (clue !== undefined) return [entry(clue)];
  const emptied = changed.filter((cell) => grid[cell] !== ".").map((cell) => entryOf(size, cell, 0));
  return [...emptied, ...changed.map(entry)];
}

function listedEntries(size: number, rows: readonly (readonly number[])[]): number[] {
  const named = new Set<number>();
  return rows.map(([line = -1, column = -1, digit = 0]) => {
    if (Math.min(line, column) < 0 || Math.max(line, column) >= size) return outside;
    if (digit < 1 || digit > size) return outside;
    const cell = line * size + column;
    if (named.has(cell)) return twice;
    named.add(cell);
    return entryOf(size, cell, digit);
  });
}

export type SudokuState = PlacingState<SudokuTask>;

export const sudokuRules: PlacingGame<SudokuTask> = {
  name: "sudoku",
  begin: ({ clues }) => clues,
  whole: ({ clues }) => openCells(clues),
  value: valueOf,
  isSolved: ({ solution }, grid) => grid === solution,
  read: readPlan,
  place: enter,
};

function openCells(grid: string): number {
  let open = 0;
  for (const mark of grid) if (mark === ".") open++;
  return open;
}

/** Entries that agree with the solution minus those that do not. */
function valueOf({ clues, solution }: SudokuTask, grid: string): number {
  let value = 0;
  for (let cell = 0; cell < grid.length; cell++) {
    if (clues[cell] !== "." || grid[cell] === ".") continue;
    value += grid[cell] === solution[cell] ? 1 : -1;
  }
  return value;
}

/**
 * Enters one after the other; a rejected entry ends the plan, so that rejections cannot be used for guessing. If it
 * clashes only with entries, one of them is wrong, and they are cleared too, so that a team is not stuck with a
 * mistake.
 */
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
    if (open === 0 && gridOf(digits) === solution) return ended("continued after the solution", null);
    if (entry === outside) return ended(outsideProblem(size), null);
    if (entry === twice) return ended("a cell of the list is named twice", null);
    const [cell, digit] = [cellOf(size, entry), digitOf(size, entry)];
    const old = digits[cell] ?? 0;
    if (old === digit) continue;
    const refusal = refusalOf(task, digits, cell, digit);
    for (const wrong of refusal?.takenOff ?? []) digits[wrong] = 0;
    if (refusal !== undefined) return ended(refusal.problem, entry);
    open += (digit === 0 ? 1 : 0) - (old === 0 ? 1 : 0);
    digits[cell] = digit;
    changes++;
  }
  return ended(undefined, null);
}

function outsideProblem(size: number): string {
  const cells = `cells are a1 to ${layoutOf(size).names.at(-1)}, digits 1 to ${size}, 0 empties`;
  return `${cells}; in lists rows and columns are 0 to ${size - 1}, digits 1 to ${size}`;
}

interface Refusal {
  readonly problem: string;
  readonly takenOff: readonly number[];
}

/** Why the digit is not allowed in the cell; undefined: it is. */
function refusalOf(
  { size, clues }: SudokuTask,
  digits: Uint8Array,
  cell: number,
  digit: number,
): Refusal | undefined {
  const { names, peers } = layoutOf(size);
  if (clues[cell] !== ".") return { problem: `${names[cell]} is a clue`, takenOff: [] };
  if (digit === 0) return undefined;
  const clashing = (peers[cell] ?? []).filter((peer) => digits[peer] === digit);
  if (clashing.length === 0) return undefined;
  const clue = clashing.find((peer) => clues[peer] !== ".");
  const what = `${names[cell]}=${digit} clashes with`;
  if (clue !== undefined) return { problem: `${what} ${names[clue]}`, takenOff: [] };
  const taken = clashing.map((peer) => names[peer]).join(" ");
  return { problem: `${what} ${taken}, taken off too`, takenOff: clashing };
}

// Plans that solve: wrong entries are cleared, then the open cells are filled, each forced by those before it.

/** The entries in order. Among forced cells the generator draws one; without it the first is taken. */
export function solvingPlan(
  { size, solution }: SudokuTask,
  grid: string,
  generator?: Generator,
): readonly number[] {
  const right = digitsOf(solution);
  const digits = digitsOf(grid);
  const wrong = Array.from(digits.keys()).filter(
    (cell) => digits[cell] !== 0 && digits[cell] !== right[cell],
  );
  for (const cell of wrong) digits[cell] = 0;
  const order = deductionOrder(layoutOf(size), digits, right, generator);
  return [
    ...wrong.map((cell) => entryOf(size, cell, 0)),
    ...order.map((cell) => entryOf(size, cell, right[cell] ?? 0)),
  ];
}

// Draws a grid for the terminal.

/** Clues, entries and proposals, with coordinates, box lines and a legend. */
export function renderState(state: SudokuState): string {
  const layout = layoutOf(state.task.size);
  const { size, boxRows } = layout;
  const marks = marksOf(state);
  const lines = [header(layout)];
  for (let row = 0; row < size; row++) {
    if (row % boxRows === 0) lines.push(rule(layout));
    lines.push(
      `${String(row + 1).padStart(2)} │${inBoxes(layout, marks.slice(row * size, (row + 1) * size))}│`,
    );
  }
  return [...lines, rule(layout), `   1 clue   (1) entered   1? proposed`].join("\n");
}

/** Three characters wide. */
function marksOf({ task, grid, proposed }: SudokuState): string[] {
  const { size, clues } = task;
  const proposals = new Map((proposed ?? []).map((entry) => [cellOf(size, entry), digitOf(size, entry)]));
  return Array.from(grid, (digit, cell) => {
    if (clues[cell] !== ".") return ` ${digit} `;
    if (digit !== ".") return `(${digit})`;
    return proposals.has(cell) ? ` ${proposals.get(cell)}?` : " · ";
  });
}

function header(layout: Layout): string {
  const letters = Array.from({ length: layout.size }, (_, column) => ` ${String.fromCharCode(97 + column)} `);
  return `    ${inBoxes(layout, letters).replaceAll("│", " ")}`.trimEnd();
}

function inBoxes({ size, boxColumns }: Layout, marks: readonly string[]): string {
  const boxes = Array.from({ length: size / boxColumns }, (_, box) =>
    marks.slice(box * boxColumns, (box + 1) * boxColumns).join(""),
  );
  return boxes.join("│");
}

function rule({ size, boxColumns }: Layout): string {
  return `   ┼${Array.from({ length: size / boxColumns }, () => "───".repeat(boxColumns)).join("┼")}┼`;
}
