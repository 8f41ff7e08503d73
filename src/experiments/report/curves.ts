/**
 * Learning curves of one column: a line per row, the mean over seeds, with a band from the lowest to the highest seed.
 */
import type { ReportRecord } from "../records.ts";
import type { Tick } from "./axes.ts";
import { axes, height, labelRange, left, width, y } from "./axes.ts";
import { colourOf } from "./colours.ts";
import { mark } from "./marks.ts";
import type { Markup } from "./markup.ts";
import { element, path } from "./markup.ts";
import type { CurvePoint, Summary } from "./summary.ts";
import { curveOf, entryAt } from "./summary.ts";
import * as text from "./text.ts";

/** Right end of the lines; their final values follow. */
const right = width - 32;

interface Curve {
  readonly title: string;
  readonly colour: string;
  /** Empty: the row trains nothing, or no seed is done. */
  readonly points: readonly CurvePoint[];
  /** Success at the end. */
  readonly share: number;
}

/** Null: no row of the column has trained yet. */
export function curveChart(
  summary: Summary,
  column: ReportRecord["columns"][number],
  rows: ReportRecord["rows"],
): Markup | null {
  const curves = rows.flatMap((row) => curveOfRow(summary, column.name, row));
  const drawn = curves.filter(({ points }) => points.length > 0);
  const last = Math.max(0, ...drawn.map(({ points }) => points.at(-1)?.step ?? 0));
  if (last === 0) return null;
  const x = (step: number): number => left + ((right - left) * step) / last;
  const steps = ticks(last).map((step): Tick => ({ x: x(step), label: step }));
  return element(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spoken(column.title, curves) },
    axes("step of reinforcement", steps, right),
    curves.filter(({ points }) => points.length === 0).map(level),
    drawn.map((curve) => band(curve, x)),
    drawn.map((curve) => line(curve, x)),
    endLabels(curves),
  );
}

function curveOfRow(
  summary: Summary,
  column: string,
  { name, title }: ReportRecord["rows"][number],
): Curve[] {
  const entry = entryAt(summary, name, column);
  if (entry === undefined || entry.success === null) return [];
  const points = curveOf(entry);
  const share = points.at(-1)?.mean ?? entry.success.mean;
  return [{ title, colour: colourOf(summary.record, name), points, share }];
}

/** The chart's description in words. */
function spoken(column: string, curves: readonly Curve[]): string {
  const each = curves.map(({ title, points, share }) => {
    const [first] = points;
    const end = `${text.perCent(share)} %`;
    if (first === undefined) return `${title}: ${end}, not trained`;
    return `${title}: from ${text.perCent(first.mean)} to ${end}`;
  });
  return `Held-out success on ${column} during reinforcement. ${each.join("; ")}.`;
}

/** Round numbers from 0 to the last step, about five. */
function ticks(last: number): number[] {
  const rough = last / 5;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((each) => each * size).find((each) => each >= rough) ?? 1);
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => index * step);
}

function level({ colour, title, share }: Curve): Markup {
  return element(
    "g",
    { class: colour },
    element("title", {}, `${title}: ${text.perCent(share)} %, not trained in this row`),
    element("line", { class: "level", x1: left, x2: right, y1: y(share), y2: y(share) }),
  );
}

function band({ colour, points }: Curve, x: (step: number) => number): Markup {
  const upper = points.map(({ step, high }) => [x(step), y(high)] as const);
  const lower = points.toReversed().map(({ step, low }) => [x(step), y(low)] as const);
  return element("path", { class: `band ${colour}`, d: `${path([...upper, ...lower])} Z` });
}

function line({ colour, title, points }: Curve, x: (step: number) => number): Markup {
  const marks = points.map(({ step, mean, low, high }) => {
    const tip = `${title}, step ${step}: ${text.perCent(mean)} % (seeds ${text.showRange({ low, high })})`;
    return mark(colour, x(step), y(mean), 2.4, element("title", {}, tip));
  });
  const d = path(points.map(({ step, mean }) => [x(step), y(mean)] as const));
  return element(
    "g",
    { class: colour },
    element("path", { class: "line", d }, element("title", {}, title)),
    marks,
  );
}

function endLabels(curves: readonly Curve[]): Markup[] {
  const heights = spread(
    curves.map(({ share }) => y(share)),
    labelRange,
    labelHeight,
  );
  return curves.map(({ colour, share }, index) =>
    element(
      "text",
      { class: `end ${colour}`, x: right + 5, y: (heights[index] ?? 0) + 3.5 },
      text.perCent(share),
    ),
  );
}

const labelHeight = 11;

/**
 * Moves labels apart until each has `room`, as little as order and range allow: overlapping ones become a block around
 * their middle.
 */
export function spread(
  wanted: readonly number[],
  [low, high]: readonly [number, number],
  room: number,
): number[] {
  const order = wanted.map((_, index) => index).toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const blocks: { members: number[]; start: number }[] = [];
  const startOf = (members: readonly number[]): number => {
    const middle = members.reduce((sum, index) => sum + (wanted[index] ?? 0), 0) / members.length;
    const length = (members.length - 1) * room;
    return Math.max(low, Math.min(high - length, middle - length / 2));
  };
  for (const index of order) {
    let block = { members: [index], start: startOf([index]) };
    for (let before = blocks.at(-1); before !== undefined; before = blocks.at(-1)) {
      if (before.start + before.members.length * room <= block.start) break;
      blocks.pop();
      const members = [...before.members, ...block.members];
      block = { members, start: startOf(members) };
    }
    blocks.push(block);
  }
  const placed = new Map(
    blocks.flatMap(({ members, start }) =>
      members.map((index, place): [number, number] => [index, start + place * room]),
    ),
  );
  return wanted.map((each, index) => placed.get(index) ?? each);
}
