/** Diagrams of the pages, as SVG: boxes, nodes, arrows and words. */
import { type Child, element, type Markup, path } from "../../src/charts/markup.ts";
import { svgFile } from "../../src/charts/page.ts";

const style = `
svg .words, svg .heading, svg .small { text-anchor: middle; font-size: 12px; fill: var(--ink); }
svg .heading { font-size: 13.5px; font-weight: 650; }
svg .small { font-size: 11.5px; fill: var(--soft); }
svg .box { fill: var(--track); stroke: var(--soft); }
svg .arrow { fill: none; stroke: var(--soft); stroke-width: 1.3; }
svg .head { fill: var(--soft); }
svg .edge { stroke: var(--g0); stroke-width: 1.3; }
svg .kept { stroke: var(--c2); stroke-width: 2.4; }
svg .node { fill: var(--card); stroke: var(--soft); }
svg .node.kept { fill: var(--c2); stroke-width: 1; }
svg .group { fill: none; stroke: var(--soft); stroke-dasharray: 4 3; }
`;

/** @param spoken what the picture shows, for readers who do not see it */
function drawing(width: number, height: number, spoken: string, ...parts: readonly Child[]): string {
  return svgFile({ width, height, spoken, parts }, style);
}

function words(x: number, y: number, text: string, kind: "words" | "heading" | "small" = "words"): Markup {
  return element("text", { class: kind, x, y }, text);
}

/** A box with a name, and under it what is in it. */
function box(x: number, y: number, width: number, height: number, name: string, ...lines: string[]): Markup {
  const first = y + height / 2 + 4 - 7 * lines.length;
  return element(
    "g",
    {},
    element("rect", { class: "box", x, y, width, height, rx: 7 }),
    words(x + width / 2, first, name, "heading"),
    lines.map((line, index) => words(x + width / 2, first + 16 + 15 * index, line, "small")),
  );
}

/** Along a line of places, with a head at the end. */
function arrow(...places: readonly (readonly [x: number, y: number])[]): Markup {
  const [[fromX, fromY] = [0, 0], [x, y] = [0, 0]] = places.slice(-2);
  const angle = (180 * Math.atan2(y - fromY, x - fromX)) / Math.PI;
  return element(
    "g",
    {},
    element("path", { class: "arrow", d: path(places) }),
    element("path", {
      class: "head",
      d: "M 0 0 L -8 4 L -8 -4 Z",
      transform: `translate(${x} ${y}) rotate(${angle})`,
    }),
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function edge(from: Point, to: Point, isKept: boolean): Markup {
  const line = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
  return element("line", { class: isKept ? "edge kept" : "edge", ...line });
}

function node({ x, y }: Point, isKept: boolean): Markup {
  return element("circle", { class: isKept ? "node kept" : "node", cx: x, cy: y, r: 6 });
}

/** Around actions that are compared with each other. */
function group(x: number, y: number, width: number, height: number): Markup {
  return element("rect", { class: "group", x, y, width, height, rx: 12 });
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
    words(170, 28, "AT-GRPO: a tree", "heading"),
    edges,
    nodes,
    words(170, 322, "each dashed group: samples of one role in one state", "small"),
  ];
}

/** Whole episodes of one task are one group. */
function trajectories(): Child {
  const root: Point = { x: 520, y: 62 };
  const drawn = [0, 1, 2, 3].map((index) => {
    const episode = [0, 1, 2].map((level): Point => ({
      x: root.x + (index - 1.5) * 48,
      y: 134 + 72 * level,
    }));
    return [
      episode.map((point, level) => edge(episode[level - 1] ?? root, point, true)),
      episode.map((point) => node(point, true)),
    ];
  });
  return [
    words(520, 28, "GRPO: trajectories", "heading"),
    drawn,
    node(root, true),
    group(424, 118, 192, 176),
    words(520, 322, "one group: whole episodes of one task", "small"),
  ];
}

const steps = [
  ["sample", "episodes of", "the team"],
  ["judge", "rewards from", "outside, if any"],
  ["measure", "reference KL,", "critics, if any"],
  ["credit", "advantages", "from rewards"],
  ["update", "gradient and", "optimizer step"],
  ["record", "metrics and", "episodes"],
] as const;

function trainingStep(): string {
  const boxes = steps.map(([name, ...lines], index) => box(1 + 116 * index, 8, 102, 74, name, ...lines));
  const arrows = steps.slice(1).map((_, index) => arrow([103 + 116 * index, 45], [116 + 116 * index, 45]));
  const spoken =
    "A training step: sample, judge, measure, credit, update, record; then the next step begins.";
  const back = arrow([632, 82], [632, 108], [52, 108], [52, 83]);
  const next = words(342, 126, "the next step samples with the new weights", "small");
  return drawing(684, 132, spoken, boxes, arrows, back, next);
}

/** Arrows both ways, with what is asked above and below them. */
function asked(y: number, above: string, below: string): Child {
  const [left, right] = [236, 447];
  const middle = (left + right) / 2;
  const arrows = [arrow([left, y], [right, y]), arrow([right, y], [left, y])];
  return [arrows, words(middle, y - 9, above, "small"), words(middle, y + 19, below, "small")];
}

function clientAndServer(): string {
  return drawing(
    684,
    150,
    "The trainer runs roles, environment, credit and records and asks a server over HTTP to sample, to compute gradients and to save.",
    box(
      1,
      6,
      234,
      138,
      "troupe train",
      "roles, environment, sandbox, judge",
      "credit: one advantage per token",
      "run folder: metrics, episodes",
      "needs a processor, no GPU",
    ),
    asked(48, "sample", "forward_backward, optim_step"),
    asked(104, "save and load weights", "Tinker protocol, HTTP"),
    box(
      449,
      6,
      234,
      138,
      "server",
      "troupe serve on a processor,",
      "SkyRL, or Tinker on GPUs",
      "weights, adapters, optimizer,",
      "checkpoints",
    ),
  );
}

export const diagrams: Readonly<Record<string, string>> = {
  sampling: drawing(
    660,
    320,
    "AT-GRPO samples several actions in each state and continues from the best; GRPO samples whole trajectories.",
    tree(),
    trajectories(),
  ),
  "training-step": trainingStep(),
  "client-and-server": clientAndServer(),
};
