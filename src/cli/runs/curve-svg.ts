/** Curves as SVG. Colours are attributes, because not every program that shows SVG knows style sheets with variables. */
import { element, type Markup, path, render } from "../../experiments/report/markup.ts";
import { style } from "../../experiments/report/style.ts";
import { showNumber } from "../../format.ts";
import { type Curve, lastStep, rangeOf, roundTicks } from "./curve.ts";

const colours = [
  "#d9701e",
  "#8b5fbf",
  "#2f7ed8",
  "#159a80",
  "#d6487e",
  "#8a9a1c",
  "#1aa3c4",
  "#a5673f",
  "#5b6bd6",
];
/** Lengths of dashes and gaps: runs also differ without colours. Of another number than the colours. */
const dashes = [undefined, "8 4", "2 4", "12 4 2 4", "12 4 2 4 2 4"] as const;
const grey = "#7d8189";
const [width, height] = [720, 400];
const frame = { left: 56, right: width - 16, top: 12, bottom: height - 40 };

interface Scale {
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
}

export function curveSvg(curves: readonly Curve[], figure: string): string {
  return render(chart(curves, figure));
}

export function curvePage(curves: readonly Curve[], figure: string): string {
  const names = curves.map(({ name }) => name).join(", ");
  const body = element("main", {}, element("h1", {}, figure), element("p", { class: "lead" }, names), [
    element("div", { class: "card" }, chart(curves, figure)),
  ]);
  const head = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    render(element("title", {}, figure)),
  ];
  return `${head.join("")}<style>${style}</style></head>${render(element("body", {}, body))}</html>\n`;
}

function chart(curves: readonly Curve[], figure: string): Markup {
  const range = rangeOf(curves, figure);
  const last = lastStep(curves);
  const scale: Scale = {
    x: (step) => frame.left + ((frame.right - frame.left) * step) / last,
    y: (value) => frame.bottom - ((frame.bottom - frame.top) * (value - range[0])) / (range[1] - range[0]),
  };
  return element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height + 8 + 18 * curves.length}`,
      role: "img",
      "font-family": "system-ui, sans-serif",
    },
    element("title", {}, `${figure} by step of reinforcement`),
    roundTicks(range, 5).map((value) => gridLine(value, scale)),
    roundTicks([0, last], 6).map((step) => label(scale.x(step), frame.bottom + 16, "middle", String(step))),
    label((frame.left + frame.right) / 2, height - 8, "middle", "step of reinforcement"),
    curves.map((curve, index) => line(curve, index, scale)),
    curves.map((curve, index) => entry(curve, index)),
  );
}

function gridLine(value: number, { y }: Scale): Markup[] {
  const at = { x1: frame.left, x2: frame.right, y1: y(value), y2: y(value) };
  return [
    element("line", { stroke: grey, "stroke-opacity": "0.3", ...at }),
    label(frame.left - 6, y(value) + 4, "end", showNumber(value)),
  ];
}

function label(x: number, y: number, anchor: string, text: string): Markup {
  return element("text", { fill: grey, "font-size": 11, x, y, "text-anchor": anchor }, text);
}

function line({ name, points }: Curve, index: number, { x, y }: Scale): Markup {
  const d = path(points.map(({ step, value }) => [x(step), y(value)] as const));
  return element("path", { fill: "none", ...strokeOf(index), d }, element("title", {}, name));
}

function strokeOf(index: number) {
  const dash = dashes[index % dashes.length];
  return {
    stroke: colours[index % colours.length],
    "stroke-width": 2,
    "stroke-linejoin": "round",
    ...(dash === undefined ? {} : { "stroke-dasharray": dash }),
  };
}

/** A row of the legend under the chart. */
function entry({ name, points }: Curve, index: number): Markup {
  const y = height + 18 * index + 8;
  const end = points.at(-1);
  const text = `${name}: ${showNumber(end?.value ?? NaN)} at step ${end?.step ?? 0}`;
  return element(
    "g",
    {},
    element("line", { ...strokeOf(index), x1: frame.left, x2: frame.left + 40, y1: y - 4, y2: y - 4 }),
    element("text", { fill: grey, "font-size": 12, x: frame.left + 48, y }, text),
  );
}
