/** The geometry of a grid: cells are numbered row by row and named by column letter and row number, "a1" at the top left. */

/** Rows and columns of a box, by the grid's size. */
const boxes: Readonly<Record<number, readonly [rows: number, columns: number]>> = {
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
  const [boxRows, boxColumns] = boxes[size] ?? [1, size];
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
