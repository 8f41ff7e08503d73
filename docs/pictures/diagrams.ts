/** Diagrams of the pages, as SVG: boxes, nodes, arrows and words. */
import { element, type Child, type Markup } from "../../src/experiments/report/markup.ts";

const ink = "#1c1d20";
const soft = "#62656c";
const blue = "#2f7ed8";
const grey = "#bfc1c6";
const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

/** @param spoken what the picture shows, for readers who do not see it */
function drawing(width: number, height: number, spoken: string, ...children: readonly Child[]): string {
  const head = element(
    "marker",
    { ...arrowHead, id: "head" },
    element("path", { d: "M 0 0 L 8 4 L 0 8 Z", fill: soft }),
  );
  return element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": spoken,
    },
    element("defs", {}, head),
    element("g", { "font-family": font, "font-size": 12, fill: ink }, ...children),
  ).text;
}

const arrowHead = {
  viewBox: "0 0 8 8",
  refX: 7,
  refY: 4,
  markerWidth: 7,
  markerHeight: 7,
  orient: "auto-start-reverse",
};

type Style = Readonly<Record<string, string | number>>;

function words(x: number, y: number, text: string, style: Style = {}): Markup {
  return element("text", { x, y, "text-anchor": "middle", ...style }, text);
}

const heading: Style = { "font-size": 13.5, "font-weight": 650 };
const small: Style = { "font-size": 10.5, fill: soft };

/** A box with a name, and under it what is in it. */
function box(x: number, y: number, width: number, height: number, name: string, ...lines: string[]): Markup {
  const first = y + height / 2 + 4 - 7 * lines.length;
  return element(
    "g",
    {},
    element("rect", { x, y, width, height, rx: 7, fill: "#f7f7f5", stroke: soft }),
    words(x + width / 2, first, name, { "font-weight": 600 }),
    lines.map((line, index) => words(x + width / 2, first + 15 + 14 * index, line, small)),
  );
}

function arrow(x1: number, y1: number, x2: number, y2: number, isDouble = false): Markup {
  const both = isDouble ? { "marker-start": "url(#head)" } : {};
  const line = { x1, y1, x2, y2, stroke: soft, "stroke-width": 1.3, "marker-end": "url(#head)" };
  return element("line", { ...line, ...both });
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function edge(from: Point, to: Point, isKept: boolean): Markup {
  const stroke = isKept ? blue : grey;
  return element("line", {
    x1: from.x,
    y1: from.y,
    x2: to.x,
    y2: to.y,
    stroke,
    "stroke-width": isKept ? 2.4 : 1.3,
  });
}

function node({ x, y }: Point, isKept: boolean): Markup {
  return element("circle", {
    cx: x,
    cy: y,
    r: 6,
    fill: isKept ? blue : "#ffffff",
    stroke: isKept ? blue : soft,
  });
}

/** Around actions that are compared with each other. */
function group(x: number, y: number, width: number, height: number): Markup {
  return element("rect", {
    x,
    y,
    width,
    height,
    rx: 12,
    fill: "none",
    stroke: soft,
    "stroke-dasharray": "4 3",
  });
}

/** Each state's samples are a group; the episode continues from the best. */
function tree(): Child {
  const best = [2, 1, 3];
  let from: Point = { x: 170, y: 62 };
  const edges: Child[] = [];
  const nodes: Child[] = [node(from, true)];
  for (const [level, chosen] of best.entries()) {
    const y = 134 + 72 * level;
    const children = [0, 1, 2, 3].map((index): Point => ({ x: from.x + (index - 1.5) * 38, y }));
    const parent = from;
    edges.push(
      children.map((child, index) => edge(parent, child, index === chosen)),
      group(parent.x - 73, y - 16, 146, 32),
    );
    nodes.push(children.map((child, index) => node(child, index === chosen)));
    from = children[chosen] ?? from;
  }
  return [
    words(170, 28, "AT-GRPO: a tree", heading),
    edges,
    nodes,
    words(170, 322, "each dashed group: samples of one role in one state", small),
  ];
}

/** Whole episodes of one task are one group. */
function trajectories(): Child {
  const root: Point = { x: 520, y: 62 };
  const drawn = [0, 1, 2, 3].map((index) => {
    const path = [0, 1, 2].map((level): Point => ({ x: root.x + (index - 1.5) * 48, y: 134 + 72 * level }));
    return [
      path.map((point, level) => edge(path[level - 1] ?? root, point, true)),
      path.map((point) => node(point, true)),
    ];
  });
  return [
    words(520, 28, "GRPO: trajectories", heading),
    drawn,
    node(root, true),
    group(424, 118, 192, 176),
    words(520, 322, "one group: whole episodes of one task", small),
  ];
}

const steps = [
  ["sample", "episodes of", "the team"],
  ["judge", "rewards from", "outside, if any"],
  ["measure", "reference KL,", "critics, if any"],
  ["credit", "rewards become", "advantages"],
  ["update", "gradient and", "optimizer step"],
  ["record", "metrics and", "episodes"],
] as const;

function trainingStep(): string {
  const boxes = steps.map(([name, ...lines], index) => box(14 + 116 * index, 24, 98, 74, name, ...lines));
  const arrows = steps.slice(1).map((_, index) => arrow(113 + 116 * index, 61, 129 + 116 * index, 61));
  const back = element("path", {
    d: "M 644 99 L 644 124 L 63 124 L 63 100",
    fill: "none",
    stroke: soft,
    "stroke-width": 1.3,
    "marker-end": "url(#head)",
  });
  const spoken =
    "A training step: sample, judge, measure, credit, update, record; then the next step begins.";
  return drawing(
    708,
    148,
    spoken,
    boxes,
    arrows,
    back,
    words(353, 140, "the next step samples with the new weights", small),
  );
}

function clientAndServer(): string {
  return drawing(
    700,
    196,
    "The trainer runs roles, environment, credit and records and asks a server over HTTP to sample, to compute gradients and to save.",
    box(
      14,
      30,
      250,
      136,
      "troupe train",
      "roles, environment, sandbox, judge",
      "credit: one advantage per token",
      "run folder: metrics, episodes",
      "needs a processor, no GPU",
    ),
    arrow(266, 74, 438, 74, true),
    words(352, 64, "sample", small),
    words(352, 90, "forward_backward, optim_step", small),
    arrow(266, 124, 438, 124, true),
    words(352, 114, "save and load weights", small),
    words(352, 144, "Tinker protocol, HTTP", small),
    box(
      440,
      30,
      246,
      136,
      "server",
      "troupe serve on a processor,",
      "SkyRL, or Tinker on GPUs",
      "weights, adapters, optimizer",
      "checkpoints",
    ),
  );
}

export const diagrams: Readonly<Record<string, string>> = {
  sampling: drawing(
    700,
    340,
    "AT-GRPO samples several actions in each state and continues from the best; GRPO samples whole trajectories.",
    tree(),
    trajectories(),
  ),
  "training-step": trainingStep(),
  "client-and-server": clientAndServer(),
};
