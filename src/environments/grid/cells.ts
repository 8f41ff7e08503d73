/**
 * The geometry of a square board: cells are numbered row by row and named by column letter and row number
 * ("a1" is the top left, "j1" the top right of a board of 10).
 */

/** Moves by number: 0 up, 1 down, 2 left, 3 right. */
export const moveWords = ["up", "down", "left", "right"] as const;

/** Columns are named by letters, which limits the width. */
export const largestSize = 26;

const outside = -1;

/** Every cell's name, in the order of the cells' numbers. */
export const cellNames = memoised((size) =>
  Array.from({ length: size * size }, (_, cell) => nameOf(cell, size)),
);

/** The number of each cell by its name. */
export const cellsByName = memoised(
  (size) => new Map(cellNames(size).map((cellName, cell) => [cellName, cell])),
);

/** `table[4 × cell + move]` is the cell that the move leads to, or -1 outside the board. */
export const neighbourTable = memoised((size) => {
  const table = new Int16Array(size * size * 4).fill(outside);
  for (let cell = 0; cell < size * size; cell++) {
    const row = Math.floor(cell / size);
    const column = cell % size;
    if (row > 0) table[4 * cell] = cell - size;
    if (row < size - 1) table[4 * cell + 1] = cell + size;
    if (column > 0) table[4 * cell + 2] = cell - 1;
    if (column < size - 1) table[4 * cell + 3] = cell + 1;
  }
  return table;
});

/** The move from one cell to the other, or -1 if they are not adjacent. */
export function moveBetween(size: number, from: number, to: number): number {
  if (to < 0) return -1;
  const table = neighbourTable(size);
  for (let move = 0; move < 4; move++) if (table[4 * from + move] === to) return move;
  return -1;
}

function nameOf(cell: number, size: number): string {
  return `${String.fromCharCode(97 + (cell % size))}${Math.floor(cell / size) + 1}`;
}

/** What is made once per size of a board. */
export function memoised<T>(make: (size: number) => T): (size: number) => T {
  const made = new Map<number, T>();
  return (size) => {
    const known = made.get(size);
    if (known !== undefined) return known;
    const fresh = make(size);
    made.set(size, fresh);
    return fresh;
  };
}
