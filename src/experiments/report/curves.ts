/** Learning curves of one column: a line per row, the mean over seeds, in a band from the lowest to the highest seed. */
import type { ReportRecord } from "../records.ts";
import { colourOf } from "./colours.ts";
import type { Child, Markup } from "./markup.ts";
import { element, path } from "./markup.ts";
import type { CurvePoint, Summary } from "./summary.ts";
import { curveOf, entryAt } from "./summary.ts";
import * as text from "./text.ts";

const width = 340;
const height = 230;
const [left, right, top, bottom] = [34, 8, 8, 34];

const y = (share: number): number => top + (height - top - bottom) * (1 - share);

/** Null: nothing of the rows in the column was trained yet. */
export function curveChart(summary: Summary, column: string, shown: ReportRecord["rows"]): Markup | null {
  const rows = shown.map(({ name, title }) => ({
    name,
    title,
    entry: entryAt(summary, name, column),
  }));
  const curves = rows.map((row) => ({ ...row, points: row.entry === undefined ? [] : curveOf(row.entry) }));
  const last = Math.max(0, ...curves.flatMap(({ points }) => points.map(({ step }) => step)));
  if (last === 0) return null;
  const x = (step: number): number => left + ((width - left - right) * step) / last;
  const flat = curves.filter(({ points, entry }) => points.length === 0 && entry?.success);
  const drawn = curves.filter(({ points }) => points.length > 0);
  const label = `Held-out success during training on ${column}`;
  return element(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    axes(last, x),
    flat.map(({ name, title, entry }) =>
      level(colourOf(summary.record, name), title, entry?.success?.mean ?? 0),
    ),
    drawn.map(({ name, points }) => band(colourOf(summary.record, name), points, x)),
    drawn.map(({ name, title, points }) => line(colourOf(summary.record, name), title, points, x)),
  );
}

function axes(last: number, x: (step: number) => number): Child {
  const shares = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    element("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
    element("text", { class: "tick", x: left - 6, y: y(share) + 4, "text-anchor": "end" }, 100 * share),
  ]);
  const steps = ticks(last).map((step) =>
    element(
      "text",
      { class: "tick", x: x(step), y: height - bottom + 16, "text-anchor": step === last ? "end" : "middle" },
      step,
    ),
  );
  const middle = (left + width - right) / 2;
  const title = element(
    "text",
    { class: "tick", x: middle, y: height - 3, "text-anchor": "middle" },
    "step of reinforcement",
  );
  return [shares, steps, title];
}

/** Round numbers from 0 to the last step, about five. */
function ticks(last: number): number[] {
  const rough = last / 5;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((each) => each * size).find((each) => each >= rough) ?? 1);
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => index * step);
}

function level(colour: string, title: string, share: number): Markup {
  return element(
    "g",
    { class: colour },
    element("title", {}, `${title}: ${text.perCent(share)} %, not trained in this row`),
    element("line", { class: "level", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
  );
}

function band(colour: string, points: readonly CurvePoint[], x: (step: number) => number): Markup {
  const upper = points.map(({ step, high }) => [x(step), y(high)] as const);
  const lower = points.toReversed().map(({ step, low }) => [x(step), y(low)] as const);
  return element("path", { class: `band ${colour}`, d: `${path([...upper, ...lower])} Z` });
}

function line(
  colour: string,
  title: string,
  points: readonly CurvePoint[],
  x: (step: number) => number,
): Markup {
  const dots = points.map(({ step, mean, low, high }) =>
    element(
      "circle",
      { class: "dot", cx: x(step), cy: y(mean), r: 2.2 },
      element(
        "title",
        {},
        `${title}, step ${step}: ${text.perCent(mean)} % (seeds ${text.showRange({ low, high })})`,
      ),
    ),
  );
  const d = path(points.map(({ step, mean }) => [x(step), y(mean)] as const));
  return element(
    "g",
    { class: colour },
    element("path", { class: "line", d }, element("title", {}, title)),
    dots,
  );
}
