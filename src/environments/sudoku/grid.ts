/** Grids, their geometry, and how they are solved: exactly, and as a person does. */
import { drawInt, type Generator, shuffled } from "../../random.ts";

// Grids as text (one character per cell, row by row: a digit, or "." if open) and as numbers (0: open).

export function digitsOf(grid: string): Uint8Array {
  const digits = new Uint8Array(grid.length);
  for (let cell = 0; cell < digits.length; cell++) {
    const code = grid.charCodeAt(cell);
    digits[cell] = code === openCode ? 0 : code - zeroCode;
  }
  return digits;
}

export function gridOf(digits: Uint8Array): string {
  let grid = "";
  for (const digit of digits) grid += digit === 0 ? "." : digit;
  return grid;
}

const openCode = ".".charCodeAt(0);
const zeroCode = "0".charCodeAt(0);

// The geometry of a grid: cells are numbered row by row and named by column letter and row number, "a1" at the top left.

/** Rows and columns of a box, by the grid's size. */
const boxSizes: Readonly<Record<number, readonly [rows: number, columns: number]>> = {
  4: [2, 2],
  6: [2, 3],
  9: [3, 3],
};

export const sizes = [4, 6, 9] as const;
export type Size = (typeof sizes)[number];

export interface Layout {
  readonly size: number;
  readonly boxRows: number;
  readonly boxColumns: number;
  /** [size²] */
  readonly names: readonly string[];
  readonly rowOf: Uint8Array;
  readonly columnOf: Uint8Array;
  readonly boxOf: Uint8Array;
  /** The cells of every row, then of every column, then of every box: [3 × size][size]. */
  readonly units: readonly (readonly number[])[];
  /** The cells that share a row, a column or a box with a cell: [size²][…]. */
  readonly peers: readonly (readonly number[])[];
}

const layouts = new Map<number, Layout>();

/** The layout of a grid of 4, 6 or 9. */
export function layoutOf(size: number): Layout {
  const known = layouts.get(size);
  if (known !== undefined) return known;
  const made = makeLayout(size);
  layouts.set(size, made);
  return made;
}

function makeLayout(size: number): Layout {
  const [boxRows, boxColumns] = boxSizes[size] ?? [1, size];
  const cells = Array.from({ length: size * size }, (_, cell) => cell);
  const rowOf = Uint8Array.from(cells, (cell) => Math.floor(cell / size));
  const columnOf = Uint8Array.from(cells, (cell) => cell % size);
  const boxOf = Uint8Array.from(cells, (cell) => {
    const band = Math.floor((rowOf[cell] ?? 0) / boxRows);
    return band * boxRows + Math.floor((columnOf[cell] ?? 0) / boxColumns);
  });
  const unitsOf = (of: Uint8Array): number[][] =>
    Array.from({ length: size }, (_, unit) => cells.filter((cell) => of[cell] === unit));
  const units = [rowOf, columnOf, boxOf].flatMap(unitsOf);
  const peers = cells.map((cell) => {
    const together = new Set(units.filter((unit) => unit.includes(cell)).flat());
    return [...together].filter((peer) => peer !== cell).toSorted((a, b) => a - b);
  });
  const names = cells.map(
    (cell) => `${String.fromCharCode(97 + (cell % size))}${Math.floor(cell / size) + 1}`,
  );
  return { size, boxRows, boxColumns, names, rowOf, columnOf, boxOf, units, peers };
}

// Exact search: whether there is one solution, and a random full grid. Sets of digits are bit masks, bit d for digit d.

/** The number of ways to fill the open cells, counted up to `most`. `digits` [size²], 0 open; not changed. */
export function countSolutions(layout: Layout, digits: Uint8Array, most: number): number {
  const search = begin(layout, digits);
  return search === undefined ? 0 : count(search, most);
}

/** The only solution; undefined if there is none or more than one. */
export function uniqueSolution(layout: Layout, digits: Uint8Array): Uint8Array | undefined {
  const search = begin(layout, digits);
  let found: Uint8Array | undefined;
  const solutions = search === undefined ? 0 : count(search, 2, (solution) => (found = solution.slice()));
  return solutions === 1 ? found : undefined;
}

/** A full grid; every one may be drawn. */
export function randomGrid(layout: Layout, generator: Generator): Uint8Array {
  const search = begin(layout, new Uint8Array(layout.size ** 2));
  const order = Array.from({ length: layout.size }, (_, index) => index + 1);
  if (search !== undefined) count(search, 1, undefined, () => shuffled(generator, order));
  return search?.digits ?? new Uint8Array();
}

interface Search {
  readonly layout: Layout;
  readonly digits: Uint8Array;
  /** Digits used in each row, column and box: [size]. */
  readonly rows: Uint16Array;
  readonly columns: Uint16Array;
  readonly boxes: Uint16Array;
}

/** Undefined if two equal digits are in one row, column or box. */
function begin(layout: Layout, given: Uint8Array): Search | undefined {
  const { size, rowOf, columnOf, boxOf } = layout;
  const [rows, columns, boxes] = [new Uint16Array(size), new Uint16Array(size), new Uint16Array(size)];
  const search = { layout, digits: given.slice(), rows, columns, boxes };
  for (let cell = 0; cell < given.length; cell++) {
    const digit = given[cell] ?? 0;
    if (digit === 0) continue;
    const used =
      (rows[rowOf[cell] ?? 0] ?? 0) | (columns[columnOf[cell] ?? 0] ?? 0) | (boxes[boxOf[cell] ?? 0] ?? 0);
    if ((used >> digit) & 1) return undefined;
    toggle(search, cell, digit);
  }
  return search;
}

/** Fills the most constrained cell in every way. A search that stops at `most` leaves its last solution in `digits`. */
function count(
  search: Search,
  most: number,
  tell?: (solution: Uint8Array) => void,
  order?: () => readonly number[],
): number {
  const cell = mostConstrained(search);
  if (cell === undefined) {
    tell?.(search.digits);
    return 1;
  }
  const free = freeDigits(search, cell);
  const digits = order?.() ?? countingUp;
  let found = 0;
  for (const digit of digits) {
    if (((free >> digit) & 1) === 0) continue;
    search.digits[cell] = digit;
    toggle(search, cell, digit);
    found += count(search, most - found, tell, order);
    if (found >= most) return found;
    search.digits[cell] = 0;
    toggle(search, cell, digit);
  }
  return found;
}

const countingUp = [1, 2, 3, 4, 5, 6, 7, 8, 9];

function mostConstrained(search: Search): number | undefined {
  let best: number | undefined;
  let fewest = Infinity;
  for (let cell = 0; cell < search.digits.length; cell++) {
    if (search.digits[cell] !== 0) continue;
    const ways = bitCount(freeDigits(search, cell));
    if (ways >= fewest) continue;
    best = cell;
    fewest = ways;
    if (ways <= 1) break;
  }
  return best;
}

function freeDigits({ layout, rows, columns, boxes }: Search, cell: number): number {
  const { size, rowOf, columnOf, boxOf } = layout;
  const used =
    (rows[rowOf[cell] ?? 0] ?? 0) | (columns[columnOf[cell] ?? 0] ?? 0) | (boxes[boxOf[cell] ?? 0] ?? 0);
  return ((2 << size) - 2) & ~used;
}

function toggle({ layout, rows, columns, boxes }: Search, cell: number, digit: number): void {
  const bit = 1 << digit;
  const [row, column, box] = [layout.rowOf[cell] ?? 0, layout.columnOf[cell] ?? 0, layout.boxOf[cell] ?? 0];
  rows[row] = (rows[row] ?? 0) ^ bit;
  columns[column] = (columns[column] ?? 0) ^ bit;
  boxes[box] = (boxes[box] ?? 0) ^ bit;
}

/** The number of digits in a set. */
export function bitCount(mask: number): number {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}

// Fills a grid in the order in which a person does: forced cells first.

/**
 * The open cells, each forced by those before it: the only digit left for a cell, or else the only cell left for a
 * digit in a row, column or box, or else (rarely, if neither exists) any cell. Among several forced cells the generator
 * draws one; without it, the first is taken. `digits` [size²], 0 open, agrees with the solution.
 */
export function deductionOrder(
  layout: Layout,
  digits: Uint8Array,
  solution: Uint8Array,
  generator?: Generator,
): number[] {
  const grid = digits.slice();
  const order: number[] = [];
  for (;;) {
    const forced = forcedCells(layout, grid);
    const cell = forced[generator === undefined ? 0 : drawInt(generator, Math.max(1, forced.length))];
    if (cell === undefined) return order;
    grid[cell] = solution[cell] ?? 0;
    order.push(cell);
  }
}

function forcedCells(layout: Layout, grid: Uint8Array): number[] {
  const open = Array.from(grid.keys()).filter((cell) => grid[cell] === 0);
  const candidates = candidateSets(layout, grid);
  const naked = open.filter((cell) => bitCount(candidates[cell] ?? 0) === 1);
  if (naked.length > 0) return naked;
  const hidden = hiddenSingles(layout, candidates);
  return hidden.length > 0 ? hidden : open;
}

/** For each open cell the digits missing in its row, column and box, as a bit mask; 0 for a filled cell. */
export function candidateSets(layout: Layout, grid: Uint8Array): Uint16Array {
  const every = (2 << layout.size) - 2;
  return Uint16Array.from(grid, (digit, cell) => {
    if (digit !== 0) return 0;
    const used = (layout.peers[cell] ?? []).reduce((mask, peer) => mask | (1 << (grid[peer] ?? 0)), 0);
    return every & ~used;
  });
}

/** The cells that are the only place for some digit in a unit, in the order of cells. */
function hiddenSingles(layout: Layout, candidates: Uint16Array): number[] {
  const cells = new Set<number>();
  for (const unit of layout.units) {
    let once = 0;
    let twice = 0;
    for (const cell of unit) {
      const set = candidates[cell] ?? 0;
      twice |= once & set;
      once |= set;
    }
    const single = once & ~twice;
    for (const cell of unit) if (((candidates[cell] ?? 0) & single) !== 0) cells.add(cell);
  }
  return [...cells].toSorted((a, b) => a - b);
}
