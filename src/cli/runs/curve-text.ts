/** Curves as characters: each is drawn with a mark of its own, so that they differ without colours, too. */
import { styleText } from "node:util";
import { showNumber, showText } from "../../format.ts";
import { type Curve, lastStep, rangeOf, roundTicks } from "./curve.ts";
import { cellsOf, type Place } from "./plane.ts";

/** Characters that are one column wide in every terminal. */
const marks = "*o+x#@%=&$";
const colours = ["blue", "red", "green", "magenta", "cyan", "yellow"] as const;
const rows = 16;

export interface Terminal {
  readonly columns?: number;
  readonly isTTY?: boolean;
}

/** How curves are drawn. */
interface Plane {
  readonly columns: number;
  readonly last: number;
  readonly range: readonly [number, number];
}

/** The mark of a curve, by index. */
type MarkOf = (index: number) => string;

/** A chart with a legend that gives the first and last value of each run. Lines are coloured in a terminal only. */
export function curveText(
  curves: readonly Curve[],
  figure: string,
  { columns: width = 80, isTTY }: Terminal,
): string {
  const isColoured = isTTY === true && process.env["NO_COLOR"] === undefined;
  const markOf: MarkOf = (index) => {
    const mark = marks[index % marks.length] ?? "*";
    const colour = colours[index % colours.length] ?? "blue";
    return isColoured ? styleText(colour, mark, { validateStream: false }) : mark;
  };
  const range = rangeOf(curves, figure);
  const labels = yLabels(range);
  const margin = Math.max(...[...labels.values()].map((label) => label.length));
  const columns = Math.max(20, Math.min(width, 120) - margin - 2);
  const plane = { columns, last: lastStep(curves), range };
  const lines = [
    showText(`${figure} by step of reinforcement`, Math.max(width, 20)),
    "",
    ...drawn(curves, plane, markOf).map((line, row) => {
      const label = labels.get(row);
      return `${(label ?? "").padStart(margin)}${label === undefined ? "│" : "┤"}${line}`.trimEnd();
    }),
    ...xAxis(plane).map((line) => " ".repeat(margin) + line),
    "",
    ...curves.flatMap((curve, index) => entry(curve, markOf(index), width)),
  ];
  return `${lines.join("\n")}\n`;
}

/** Where lines share a cell, their marks alternate. */
function drawn(curves: readonly Curve[], { columns, last, range }: Plane, markOf: MarkOf): string[] {
  const lines = curves.map(({ points }) =>
    points.map(({ step, value }): Place => ({
      column: Math.round(((columns - 1) * step) / last),
      row: rowOf(value, range),
    })),
  );
  return cellsOf(lines, { columns, rows }).map((row) =>
    row
      .map((indices, column) => indices[column % indices.length])
      .map((index) => (index === undefined ? " " : markOf(index)))
      .join(""),
  );
}

function rowOf(value: number, [low, high]: Plane["range"]): number {
  return Math.round(((rows - 1) * (high - value)) / (high - low));
}

/** By row. */
function yLabels(range: Plane["range"]): ReadonlyMap<number, string> {
  return new Map(roundTicks(range, 5).map((tick) => [rowOf(tick, range), showNumber(tick)]));
}

/** The axis, and the numbers under it. */
function xAxis({ columns, last }: Plane): readonly [string, string] {
  let [axis, numbers] = ["└", ""];
  for (const tick of roundTicks([0, last], 5)) {
    const column = 1 + Math.round(((columns - 1) * tick) / last);
    axis = `${axis.padEnd(column, "─")}┬`;
    const text = String(tick);
    numbers = `${numbers.padEnd(Math.min(column, columns + 1 - text.length))}${text}`;
  }
  return [axis.padEnd(columns + 1, "─"), numbers];
}

/** One line of the legend, or two in a narrow terminal. */
function entry({ name, points }: Curve, mark: string, width: number): string[] {
  const [first, last] = [points[0], points.at(-1)];
  const values = `${showNumber(first?.value ?? NaN)} → ${showNumber(last?.value ?? NaN)} at step ${last?.step}`;
  const label = `${showText(name, 80)}:`;
  const fits = 5 + label.length + values.length <= width;
  return fits ? [`  ${mark} ${label} ${values}`] : [`  ${mark} ${label}`, `    ${values}`];
}
