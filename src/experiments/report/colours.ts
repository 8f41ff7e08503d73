/** Which colour a row has, on every chart of a page. Rows that train are coloured, evaluations of others' policies grey. */
import type { ReportRecord } from "../records.ts";

/** Classes `c0` … of the style sheet. */
export const colours = 9;
const greys = 4;

/** The class of a row's colour, `c3` or `g0`. */
export function colourOf({ rows }: ReportRecord, row: string): string {
  const kind = rows.find(({ name }) => name === row)?.kind;
  const alike = rows.filter((each) => each.kind === kind);
  const index = Math.max(
    0,
    alike.findIndex(({ name }) => name === row),
  );
  if (kind === "evaluate") return `g${index % greys}`;
  return `c${index % colours}`;
}

export function colourAt(index: number): string {
  return `c${index % colours}`;
}
