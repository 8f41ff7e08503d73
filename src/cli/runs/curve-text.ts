/** Curves as characters. */
import { type Color, plot } from "simple-ascii-chart";
import { showNumber, showText } from "../../format.ts";
import { type Curve, lastStep, rangeOf, roundTicks } from "./curve.ts";

const colours: readonly Color[] = [
  "ansiBlue",
  "ansiRed",
  "ansiGreen",
  "ansiMagenta",
  "ansiCyan",
  "ansiYellow",
];

export interface Terminal {
  readonly columns?: number;
  readonly isTTY?: boolean;
}

/** A chart with a legend that gives the first and last value of each run. Lines are coloured in a terminal only. */
export function curveText(
  curves: readonly Curve[],
  figure: string,
  { columns = 80, isTTY }: Terminal,
): string {
  const isColoured = isTTY === true && process.env["NO_COLOR"] === undefined;
  const range = rangeOf(curves, figure);
  const last = lastStep(curves);
  const ticks = roundTicks(range, 5);
  // The chart takes the width of labels from the values, which may have shorter ones than the ticks.
  const labelWidth = Math.max(...ticks.map((tick) => showNumber(tick).length));
  const chart = plot(
    curves.map(({ points }) => points.map(({ step, value }): [number, number] => [step, value])),
    {
      width: Math.max(20, Math.min(columns, 120) - 14),
      height: 15,
      yRange: [...range],
      customXAxisTicks: roundTicks([0, last], 5),
      customYAxisTicks: ticks,
      formatter: (value, { axis }) => (axis === "x" ? String(value) : showNumber(value).padStart(labelWidth)),
      ...(isColoured ? { color: colours.slice(0, curves.length) } : {}),
    },
  );
  const lines = [
    `${showText(figure, 80)} by step of reinforcement`,
    ...chart.split("\n").map((line) => line.trimEnd()),
    ...curves.map(ending),
  ];
  return `${lines.join("\n")}\n`;
}

function ending({ name, points }: Curve): string {
  const [first, last] = [points[0], points.at(-1)];
  return `  ${showText(name, 80)}: ${showNumber(first?.value ?? NaN)} → ${showNumber(last?.value ?? NaN)} at step ${last?.step}`;
}
