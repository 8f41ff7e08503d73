/** Charts of lines as characters: each line is drawn with a mark of its own, so that they differ without colours, too. */
import { styleText } from "node:util";
import { showText } from "../format.ts";
import type { Line, LineChart } from "./chart.ts";
import { scaleOf } from "./scales.ts";

/** Characters that are one column wide in every terminal. */
const marks = "*o+x#@%=&$";
const colours = ["blue", "red", "green", "magenta", "cyan", "yellow"] as const;
const rows = 16;

export interface Terminal {
  readonly columns?: number;
  readonly isTTY?: boolean;
}

/** The mark of a line, by index. */
type MarkOf = (index: number) => string;

/** Lines are coloured in a terminal only. */
export function textChart(chart: LineChart, { columns: width = 80, isTTY }: Terminal): string {
  const isColoured = isTTY === true && process.env["NO_COLOR"] === undefined;
  const markOf: MarkOf = (index) => {
    const mark = marks[index % marks.length] ?? "*";
    const colour = colours[index % colours.length] ?? "blue";
    return isColoured ? styleText(colour, mark, { validateStream: false }) : mark;
  };
  const rowOf = scaleOf(chart.y.range, [rows - 1, 0]);
  const labels = new Map(chart.y.ticks.map(({ at, label }) => [Math.round(rowOf(at)), label]));
  const margin = Math.max(...[...labels.values()].map((label) => label.length));
  const columns = Math.max(20, Math.min(width, 120) - margin - 2);
  const lines = [
    showText(chart.spoken, Math.max(width, 20)),
    "",
    ...drawn(chart, columns, markOf).map((line, row) => {
      const label = labels.get(row);
      return `${(label ?? "").padStart(margin)}${label === undefined ? "│" : "┤"}${line}`.trimEnd();
    }),
    ...xAxis(chart, columns).map((line) => " ".repeat(margin) + line),
    "",
    ...chart.lines.flatMap((line, index) => entry(line, markOf(index), width)),
  ];
  return `${lines.join("\n")}\n`;
}

/** Where lines share a cell, their marks alternate. */
function drawn({ lines, x, y }: LineChart, columns: number, markOf: MarkOf): string[] {
  const [columnOf, rowOf] = [scaleOf(x.range, [0, columns - 1]), scaleOf(y.range, [rows - 1, 0])];
  const cells = Array.from({ length: rows }, () => Array.from({ length: columns }, (): number[] => []));
  for (const [index, { points }] of lines.entries()) {
    const places = points.map((point) => ({
      column: Math.round(columnOf(point.x)),
      row: Math.round(rowOf(point.y)),
    }));
    for (const { column, row } of places.flatMap((to, at) => between(places[at - 1] ?? to, to))) {
      const cell = cells[row]?.[column];
      if (cell !== undefined && !cell.includes(index)) cell.push(index);
    }
  }
  return cells.map((row) =>
    row
      .map((indices, column) => indices[column % indices.length])
      .map((index) => (index === undefined ? " " : markOf(index)))
      .join(""),
  );
}

interface Place {
  /** From the left. */
  readonly column: number;
  /** From the top. */
  readonly row: number;
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

/** The axis, and the numbers under it. */
function xAxis({ x }: LineChart, columns: number): readonly [string, string] {
  const columnOf = scaleOf(x.range, [1, columns]);
  let [axis, numbers] = ["└", ""];
  for (const { at, label } of x.ticks) {
    const column = Math.round(columnOf(at));
    axis = `${axis.padEnd(column, "─")}┬`;
    numbers = `${numbers.padEnd(Math.min(column, columns + 1 - label.length))}${label}`;
  }
  return [axis.padEnd(columns + 1, "─"), numbers];
}

/** One line of the legend, or two in a narrow terminal. */
function entry({ name, note = "" }: Line, mark: string, width: number): string[] {
  const label = `${showText(name, 80)}:`;
  const fits = 5 + label.length + note.length <= width;
  return fits ? [`  ${mark} ${label} ${note}`] : [`  ${mark} ${label}`, `    ${note}`];
}
