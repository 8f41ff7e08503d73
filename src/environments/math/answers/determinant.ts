/** Values of determinants, as LaTeX. */

/** Larger ones have more terms than can be compared quickly. */
const largest = 4;

/** Null: it is not square, or too large. Of one cell, the bars may be those of an absolute value. */
export function determinantOf(rows: readonly (readonly string[])[]): string | null {
  const isSquare = rows.every((row) => row.length === rows.length);
  return isSquare && rows.length > 1 && rows.length <= largest ? expanded(rows) : null;
}

/** Along the first row. */
function expanded([first = [], ...others]: readonly (readonly string[])[]): string {
  if (others.length === 0) return `(${first[0] ?? "0"})`;
  const terms = first.map((cell, column) => {
    const minor = others.map((row) => row.filter((_, at) => at !== column));
    return `${column % 2 === 0 ? "+" : "-"}(${cell})\\cdot ${expanded(minor)}`;
  });
  return `(0${terms.join("")})`;
}
