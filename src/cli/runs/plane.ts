/** Lines on a grid of character cells. */

export interface Place {
  /** From the left. */
  readonly column: number;
  /** From the top. */
  readonly row: number;
}

/** Which lines, by index, pass through each cell of a row; every line connects its places in order. */
export function cellsOf(
  lines: readonly (readonly Place[])[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): number[][][] {
  const cells = Array.from({ length: rows }, () => Array.from({ length: columns }, (): number[] => []));
  for (const [index, places] of lines.entries()) {
    for (const { column, row } of places.flatMap((to, at) => between(places[at - 1] ?? to, to))) {
      const cell = cells[row]?.[column];
      if (cell !== undefined && !cell.includes(index)) cell.push(index);
    }
  }
  return cells;
}

/** The cells of a straight line without gaps, with both ends. */
function between(from: Place, to: Place): Place[] {
  const [width, height] = [to.column - from.column, to.row - from.row];
  const length = Math.max(Math.abs(width), Math.abs(height), 1);
  return Array.from({ length: length + 1 }, (_, index) => ({
    column: from.column + Math.round((width * index) / length),
    row: from.row + Math.round((height * index) / length),
  }));
}
