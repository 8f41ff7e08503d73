/** Rows as points of a line: success against group size, turns or size of the model, one line per column. */
import { colourAt } from "./colours.ts";
import type { Child, Markup } from "./markup.ts";
import { element, path } from "./markup.ts";
import type { Series, Success, Summary } from "./summary.ts";
import { entryAt } from "./summary.ts";
import * as text from "./text.ts";

const width = 340;
const height = 220;
const [left, right, top, bottom] = [34, 14, 10, 34];

const y = (share: number): number => top + (height - top - bottom) * (1 - share);

export function pointChart(summary: Summary, { of, points }: Series): Markup {
  const room = width - left - right;
  // Places are evenly spaced: group sizes and models grow by factors, and names have no scale at all.
  const x = (index: number): number => left + (room * (index + 0.5)) / points.length;
  const lines = summary.record.columns.map((column, index) => {
    const known = points.flatMap(({ row, title }, place) => {
      const success = entryAt(summary, row, column.name)?.success ?? null;
      return success === null ? [] : [{ x: x(place), title, success }];
    });
    const d = path(known.map((point) => [point.x, y(point.success.mean)] as const));
    return element("g", { class: colourAt(index) }, element("path", { class: "line", d }), known.map(marked));
  });
  return element(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Success against ${of}` },
    axes(
      of,
      points.map(({ at }) => String(at)),
      x,
    ),
    lines,
  );
}

function axes(of: string, places: readonly string[], x: (index: number) => number): Child {
  const shares = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    element("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
    element("text", { class: "tick", x: left - 6, y: y(share) + 4, "text-anchor": "end" }, 100 * share),
  ]);
  const labels = places.map((place, index) =>
    element("text", { class: "tick", x: x(index), y: height - bottom + 16, "text-anchor": "middle" }, place),
  );
  const middle = (left + width - right) / 2;
  return [
    shares,
    labels,
    element("text", { class: "tick", x: middle, y: height - 3, "text-anchor": "middle" }, of),
  ];
}

function marked({ x, title, success }: { x: number; title: string; success: Success }): Markup {
  const { mean, interval, values } = success;
  const tip = `${title}: ${text.perCent(mean)} % (${text.showRange(interval)}); seeds ${values.map(text.perCent).join(", ")}`;
  const cap = (share: number) =>
    element("line", { class: "whisker", x1: x - 4, x2: x + 4, y1: y(share), y2: y(share) });
  return element(
    "g",
    {},
    element("title", {}, tip),
    element("line", { class: "whisker", x1: x, x2: x, y1: y(interval.low), y2: y(interval.high) }),
    cap(interval.low),
    cap(interval.high),
    element("circle", { class: "dot", cx: x, cy: y(mean), r: 4 }),
  );
}
