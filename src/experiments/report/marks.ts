/** Distinguishes rows without colour: a shape for each trained row, and the legend. */
import type { Child, Markup } from "./markup.ts";
import { element, path } from "./markup.ts";

/** Corners of a mark as large as a circle of radius 1, relative to its centre. Null: the circle. */
const shapes: readonly (readonly (readonly [number, number])[] | null)[] = [
  null,
  [
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ],
  [
    [0, -1.25],
    [1.15, 0.85],
    [-1.15, 0.85],
  ],
  [
    [0, -1.35],
    [1.35, 0],
    [0, 1.35],
    [-1.35, 0],
  ],
];

/** @param colour the class of a row, `c3`: its number selects the shape */
export function mark(colour: string, x: number, y: number, radius: number, ...inside: Markup[]): Markup {
  const corners = shapes[Number(colour.slice(1)) % shapes.length];
  if (corners === null || corners === undefined)
    return element("circle", { class: "dot", cx: x, cy: y, r: radius }, ...inside);
  const d = `${path(corners.map(([right, down]) => [x + radius * right, y + radius * down]))} Z`;
  return element("path", { class: "dot", d }, ...inside);
}

/** A short segment of a row's line, for a legend; dashed if nothing is trained. */
export function sample(colour: string): Markup {
  return element(
    "svg",
    { class: `sample ${colour}`, viewBox: "0 0 28 10", "aria-hidden": "true" },
    sampleMarks(colour),
  );
}

/** What is drawn of it, 28 wide and 10 high. */
export function sampleMarks(colour: string): Child {
  const isLevel = colour.startsWith("g");
  return [
    element("line", { class: isLevel ? "level" : "line", x1: 1, x2: 27, y1: 5, y2: 5 }),
    isLevel ? null : mark(colour, 14, 5, 3.2),
  ];
}
