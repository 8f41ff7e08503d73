/** Charts as SVG: lines with bands or whiskers, and bars. Colours are classes of the style sheets in page.ts. */
import type { Interval } from "../statistics.ts";
import { type Child, element, type Markup, path, rounded } from "./markup.ts";
import {
  cutToWidth,
  type Range,
  rangeOf,
  roundTicks,
  scaleOf,
  spread,
  tickLabels,
  widthOf,
} from "./scales.ts";

/** A drawing that a page shows inline, and that can be a file of its own. */
export interface Chart {
  readonly width: number;
  readonly height: number;
  /** What it shows, in words. */
  readonly spoken: string;
  readonly parts: Child;
}

export interface Axis {
  readonly title: string;
  readonly range: Range;
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
}

export interface Point {
  readonly x: number;
  readonly y: number;
  readonly interval?: Interval;
  /** Shown under the pointer. */
  readonly tip?: string;
  /** Written at the point, for a chart of one line. */
  readonly label?: string;
}

export interface Line {
  /** In the legend. */
  readonly name: string;
  /** A class: `c3`, or `g0` for grey. Its number also selects the shape of the marks. */
  readonly colour: string;
  /** By x. */
  readonly points: readonly Point[];
  /** Drawn dashed and without marks: nothing changes along x. */
  readonly isLevel?: boolean;
  /** After the name in the legend. */
  readonly note?: string;
  /** Written at the right end. */
  readonly end?: string;
}

export interface LineChart {
  readonly spoken: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
  /** How the intervals of points are drawn. */
  readonly intervals: "bands" | "whiskers";
}

export interface Size {
  readonly width: number;
  /** Without the legend. */
  readonly height: number;
}

/** A panel of a page with several in a row. */
const panel: Size = { width: 340, height: 236 };
/** Of labels, as in the style sheet. */
const fontSize = 12;
/** Marks of a longer line would hide it. */
const mostMarks = 30;

type Scale = (value: number) => number;

/** Where the lines are drawn, and where their values are: for whoever points at them. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly x: Scale;
  readonly y: Scale;
}

/** With a legend below it if there are several lines or notes. */
export function lineChart(
  chart: LineChart,
  { width, height }: Size = panel,
): Chart & { readonly frame: Frame } {
  const { lines, spoken, intervals } = chart;
  const frame = frameOf(chart, width, height);
  const named = lines.some(({ note }, index) => note !== undefined || index > 0)
    ? legend(lines, width, height + 6)
    : { rows: 0, parts: null };
  const levels = lines.filter(({ isLevel }) => isLevel);
  const curves = lines.filter(({ isLevel, points }) => !isLevel && points.length > 0);
  const parts = [
    axes(chart, frame),
    levels.map((line) => level(line, frame)),
    intervals === "bands" ? curves.map((line) => band(line, frame)) : null,
    curves.map((line) => curve(line, frame, intervals === "whiskers")),
    endLabels(lines, frame),
    named.parts,
  ];
  return {
    width,
    height: height + (named.rows === 0 ? 0 : 8 + legendRow * named.rows),
    spoken,
    parts,
    frame,
  };
}

function frameOf({ x, y, lines }: LineChart, width: number, height: number): Frame {
  const labels = y.ticks.map(({ label }) => widthOf(label, fontSize));
  const ends = lines.map(({ end = "" }) => widthOf(end, fontSize));
  const [left, right] = [Math.max(0, ...labels) + 8, width - Math.max(8, ...ends) - 6];
  const [top, bottom] = [10, height - 40];
  return { left, right, top, bottom, x: scaleOf(x.range, [left, right]), y: scaleOf(y.range, [bottom, top]) };
}

function axes({ x, y }: LineChart, { left, right, bottom, ...to }: Frame): Child {
  const room = (right - left) / Math.max(1, x.ticks.length);
  return [
    y.ticks.map(({ at, label }) => [
      element("line", { class: "grid", x1: left, x2: right, y1: to.y(at), y2: to.y(at) }),
      tick(left - 6, to.y(at) + 4, "end", label),
    ]),
    x.ticks.map(({ at, label }) => tick(to.x(at), bottom + 16, "middle", cutToWidth(label, room, fontSize))),
    tick((left + right) / 2, bottom + 33, "middle", x.title),
  ];
}

function tick(x: number, y: number, anchor: "start" | "middle" | "end", label: string): Markup {
  return element("text", { class: "tick", x, y, "text-anchor": anchor }, label);
}

function level({ colour, name, points }: Line, to: Frame): Markup {
  const [tip = name] = points.flatMap((point) => point.tip ?? []);
  const d = path(points.map(({ x, y }) => [to.x(x), to.y(y)]));
  return element("path", { class: `level ${colour}`, d }, element("title", {}, tip));
}

function band({ colour, points }: Line, to: Frame): Child {
  const known = points.flatMap(({ x, interval }) => (interval === undefined ? [] : [{ x, ...interval }]));
  if (known.length === 0) return null;
  const upper = known.map(({ x, high }) => [to.x(x), to.y(high)] as const);
  const lower = known.toReversed().map(({ x, low }) => [to.x(x), to.y(low)] as const);
  return element("path", { class: `band ${colour}`, d: `${path([...upper, ...lower])} Z` });
}

function curve({ colour, name, points }: Line, to: Frame, hasWhiskers: boolean): Markup {
  const every = Math.ceil(points.length / mostMarks);
  const radius = hasWhiskers ? 4 : 2.4;
  const marks = points.map((point, index) => {
    const { x, y, interval, tip, label } = point;
    if (index % every > 0 && index < points.length - 1) return null;
    return element(
      "g",
      {},
      element("title", {}, tip ?? name),
      hasWhiskers && interval !== undefined
        ? whisker(to.x(x), to.y(interval.low), to.y(interval.high))
        : null,
      mark(colour, to.x(x), to.y(y), radius),
      label === undefined ? null : pointLabel(label, point, points[index + 1], to),
    );
  });
  const d = path(points.map(({ x, y }) => [to.x(x), to.y(y)] as const));
  return element("g", { class: colour }, element("path", { class: "line", d }), marks);
}

function whisker(x: number, low: number, high: number): Markup {
  const d = `M ${rounded(x - 4)} ${rounded(low)} h 8 m -4 0 V ${rounded(high)} m -4 0 h 8`;
  return element("path", { class: "whisker", d });
}

/** Above the interval, or below if it reaches the top, or beside the point if it reaches the bottom, too. */
function pointLabel(label: string, point: Point, next: Point | undefined, to: Frame): Markup {
  const { low, high } = point.interval ?? { low: point.y, high: point.y };
  const [above, below, x] = [to.y(high) - 6, to.y(low) + 14, to.x(point.x)];
  const at = { class: "end", x, "text-anchor": "middle" };
  if (above > fontSize) return element("text", { ...at, y: above }, label);
  if (below < to.bottom) return element("text", { ...at, y: below }, label);
  const isRising = next !== undefined && next.y > point.y;
  const beside = { ...at, x: x + 8, "text-anchor": "start", y: to.y(point.y) + (isRising ? 14 : -6) };
  return element("text", beside, label);
}

function endLabels(lines: readonly Line[], { right, top, bottom, y }: Frame): Child {
  const ended = lines.flatMap(({ colour, end, points }) => {
    const last = points.at(-1);
    return end === undefined || last === undefined ? [] : [{ colour, end, at: y(last.y) }];
  });
  const heights = spread(
    ended.map(({ at }) => at),
    [top + 4, bottom],
    fontSize + 1,
  );
  return ended.map(({ colour, end }, index) =>
    element("text", { class: `end ${colour}`, x: right + 6, y: (heights[index] ?? 0) + 4 }, end),
  );
}

const legendRow = 18;
const sampleWidth = 30;

/** Names in rows, as many in a row as fit. */
function legend(lines: readonly Line[], width: number, top: number): { rows: number; parts: Child } {
  let [row, x] = [0, 0];
  const parts = lines.map(({ name, note, colour, isLevel = false }) => {
    const end = note === undefined ? "" : `: ${note}`;
    const shown = cutToWidth(name, width - sampleWidth - widthOf(end, fontSize), fontSize) + end;
    const wide = sampleWidth + widthOf(shown, fontSize) + 12;
    if (x > 0 && x + wide > width) [row, x] = [row + 1, 0];
    const left = x;
    x += wide;
    return element(
      "g",
      { class: colour, transform: `translate(${Math.round(left)} ${top + legendRow * row})` },
      element("path", { class: isLevel ? "level" : "line", d: "M 1 8 H 23" }),
      isLevel ? null : mark(colour, 12, 8, 3.2),
      element("text", { class: "name", x: sampleWidth, y: 12 }, shown),
    );
  });
  return { rows: row + 1, parts };
}

/** Lines differ without colours. A shape without corners is a circle; `turn` is where the first corner is, in turns from the right. */
const shapes = [
  { corners: 0, turn: 0 },
  { corners: 4, turn: 1 / 8 },
  { corners: 3, turn: -1 / 4 },
  { corners: 4, turn: 0 },
] as const;

function mark(colour: string, x: number, y: number, radius: number): Markup {
  const { corners, turn } = shapes[Number(colour.slice(1)) % shapes.length] ?? shapes[0];
  if (corners === 0) return element("circle", { class: "dot", cx: x, cy: y, r: radius });
  // As large as the circle.
  const reach = 1.3 * radius;
  const angles = Array.from({ length: corners }, (_, index) => 2 * Math.PI * (turn + index / corners));
  const d = path(angles.map((angle) => [x + reach * Math.cos(angle), y + reach * Math.sin(angle)]));
  return element("path", { class: "dot", d: `${d} Z` });
}

export interface Bar {
  readonly title: string;
  readonly colour: string;
  readonly isStrong: boolean;
  readonly tip: string;
  /** What is wrong with the number, or why there is none. */
  readonly flag: string;
  /** Shares; `dots` are what the mean is made of. */
  readonly measured: {
    readonly mean: number;
    readonly label: string;
    readonly interval: Interval;
    readonly dots: readonly number[];
  } | null;
}

const barRow = 42;
const barHeight = 14;

/** Shares as bars, each below its title and number. */
export function barChart(bars: readonly Bar[], spoken: string): Chart {
  const { width } = panel;
  const [top, bottom] = [4, 4 + barRow * bars.length];
  const x = scaleOf([0, 1], [1, width - 1]);
  const grid = shareTicks.map(({ at, label }) => [
    element("line", { class: "grid", x1: x(at), x2: x(at), y1: top, y2: bottom }),
    tick(x(at), bottom + 15, at === 0 ? "start" : at === 1 ? "end" : "middle", label),
  ]);
  const parts = [grid, bars.map((bar, index) => barRowOf(bar, top + barRow * index, width, x))];
  return { width, height: bottom + 22, spoken, parts };
}

function barRowOf(
  { title, colour, isStrong, tip, flag, measured }: Bar,
  top: number,
  width: number,
  x: Scale,
): Markup {
  const label = measured?.label ?? "";
  const free = width - widthOf(`${flag} ${label}`, fontSize) - 10;
  const y = top + 20;
  return element(
    "g",
    { class: isStrong ? `${colour} best` : colour },
    element("title", {}, tip),
    element("text", { class: "label", x: 1, y: top + 14 }, cutToWidth(title, free, fontSize)),
    element(
      "text",
      { class: "value", x: width - 1, y: top + 14, "text-anchor": "end" },
      element("tspan", { class: "flag" }, flag),
      ` ${label}`,
    ),
    element("rect", { class: "track", x: x(0), y, width: x(1) - x(0), height: barHeight, rx: 3 }),
    measured === null ? null : barOf(measured, y, x),
  );
}

function barOf({ mean, interval, dots }: NonNullable<Bar["measured"]>, y: number, x: Scale): Child {
  const middle = y + barHeight / 2;
  const [low, high] = [rounded(x(interval.low)), rounded(x(interval.high))];
  return [
    element("rect", {
      class: "bar",
      x: x(0),
      y,
      width: Math.max(0, x(mean) - x(0)),
      height: barHeight,
      rx: 3,
    }),
    element("path", { class: "whisker", d: `M ${low} ${middle - 4} v 8 m 0 -4 H ${high} m 0 -4 v 8` }),
    dots.map((dot) => element("circle", { class: "seed", cx: x(dot), cy: middle, r: 2.6 })),
  ];
}

/** The ticks of an axis of shares, in per cent. */
export const shareTicks: Axis["ticks"] = [0, 0.25, 0.5, 0.75, 1].map((at) => ({
  at,
  label: at === 1 ? "100 %" : String(100 * at),
}));

/** An axis of steps, from the first to the last. */
export function stepAxis(last: number, title = "step of reinforcement", first = 0): Axis {
  const ticks = roundTicks([first, last], 5, true).map((at) => ({ at, label: String(at) }));
  return { title, range: [first, last], ticks };
}

/** Where a chart's steps begin, and what they are steps of. Default: 0, reinforcement. */
export interface Steps {
  readonly title: string;
  readonly first: number;
}

/** A figure by step, with its intervals as bands. A share is shown as a part of the whole. */
export function stepChart(
  figure: string,
  lines: readonly Line[],
  isShare: boolean,
  { title, first = 0 }: Partial<Steps> = {},
): LineChart {
  const points = lines.flatMap((line) => line.points);
  const range = isShare
    ? ([0, 1] as const)
    : rangeOf(
        points.flatMap(({ y, interval }) =>
          interval === undefined ? [y] : [y, interval.low, interval.high],
        ),
      );
  const ticks = roundTicks(range, 5);
  const labels = tickLabels(ticks);
  const x = stepAxis(Math.max(first + 1, ...points.map((point) => point.x)), title, first);
  return {
    spoken: `${figure} by ${x.title}`,
    x,
    y: { title: "", range, ticks: ticks.map((at, index) => ({ at, label: labels[index] ?? "" })) },
    lines,
    intervals: "bands",
  };
}
