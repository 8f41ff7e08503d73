/** The colour of a row in every chart of a page. Trained rows are coloured, evaluations of others' policies grey. */
import type { ReportRecord } from "../records.ts";

/** Classes `c0` … of the style sheet. */
const colours = 9;
const greys = 4;

/** The class of a row's colour, `c3` or `g0`. Colours distinguish the points of one line, not of all lines. */
export function colourOf({ rows }: ReportRecord, row: string): string {
  const own = rows.find(({ name }) => name === row);
  const alike = rows.filter(({ kind, point }) => kind === own?.kind && point?.of === own?.point?.of);
  const index = Math.max(
    0,
    alike.findIndex(({ name }) => name === row),
  );
  return own?.kind === "evaluate" ? `g${index % greys}` : colourAt(index);
}

export function colourAt(index: number): string {
  return `c${index % colours}`;
}
