/** The frame of a chart of success: the y axis has shares, the x axis steps or points. */
import type { Child } from "./markup.ts";
import { element } from "./markup.ts";

export const width = 340;
export const height = 230;
const [top, bottom] = [10, 34];
export const left = 42;

/** The y coordinate of a share. */
export const y = (share: number): number => top + (height - top - bottom) * (1 - share);

/** The lowest and the highest position of a label next to a line. */
export const labelRange = [top + 4, height - bottom] as const;

export interface Tick {
  readonly x: number;
  readonly label: string | number;
}

/** @param right the x at which the frame ends */
export function axes(title: string, places: readonly Tick[], right: number): Child {
  const shares = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    element("line", { class: "grid", x1: left, x2: right, y1: y(share), y2: y(share) }),
    tick(left - 6, y(share) + 4, "end", share === 1 ? "100 %" : 100 * share),
  ]);
  const labels = places.map(({ x, label }) => tick(x, height - bottom + 16, "middle", label));
  return [shares, labels, tick((left + right) / 2, height - 3, "middle", title)];
}

function tick(x: number, at: number, anchor: string, words: string | number): Child {
  return element("text", { class: "tick", x, y: at, "text-anchor": anchor }, words);
}
