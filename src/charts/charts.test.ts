import { expect, it, describe } from "vitest";
import { array, assert, double, property } from "fast-check";
import { barChart, type Line, lineChart, type LineChart, shareTicks, stepAxis } from "./chart.ts";
import { render } from "./markup.ts";
import { inline, page, svgFile } from "./page.ts";
import { cutToWidth, rangeOf, roundTicks, scaleOf, spread, tickLabels, widthOf } from "./scales.ts";

const hostile = `a <b>"c"</b> & \u0000\u202Ed`;

function chartOf(...lines: readonly Line[]): LineChart {
  const y = { title: "", range: [0, 1] as const, ticks: shareTicks };
  return { spoken: hostile, x: stepAxis(10), y, lines, intervals: "bands" };
}

const line = (name: string, count = 2): Line => ({
  name,
  colour: "c1",
  points: Array.from({ length: count }, (_, x) => ({ x, y: 0.5, tip: hostile })),
  end: "50.0",
});

it("escapes text from files, in attributes too, and shows nothing that reorders or that XML forbids", () => {
  const chart = lineChart(chartOf(line(hostile), line("b")));
  const shown = "a &lt;b&gt;&quot;c&quot;&lt;/b&gt; &amp;   d";
  for (const text of [svgFile(chart), page(hostile, inline(chart))]) {
    for (const part of ["<b>", "\u0000", "\u202E"]) expect(text).not.toContain(part);
    expect(text).toContain(shown);
  }
});

it("has a legend for several lines, in as few rows as fit", () => {
  const alone = lineChart(chartOf(line("a")));
  const two = lineChart(chartOf(line("a"), line("b")));
  expect(render(alone.parts)).not.toContain('class="name"');
  expect(render(two.parts).match(/class="name"/g)).toHaveLength(2);
  const long = "x".repeat(30);
  expect(lineChart(chartOf(line(long), line(long))).height).toBe(two.height + 18);
});

it("a long line has marks at some points only, among them the last", () => {
  const parts = render(lineChart(chartOf(line("long", 1000))).parts);
  expect(parts.match(/class="dot"/g)?.length).toBeLessThanOrEqual(31);
});

it("a file has both themes, and no variables", () => {
  const file = svgFile(barChart([], "nothing"));
  expect(file).toContain("@media (prefers-color-scheme: dark)");
  expect(file).not.toContain("var(");
});

it("a label that has no room above or below its interval is beside its point", () => {
  const whole = { x: 5, y: 0.5, interval: { low: 0, high: 1 }, label: "50.0" };
  const chart = { ...chartOf({ name: "a", colour: "c0", points: [whole] }), intervals: "whiskers" } as const;
  expect(render(lineChart(chart).parts)).toMatch(/text-anchor="start"[^>]*>50\.0</);
});

it.each([
  [[0, 1], 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [[0, 150], 5, [0, 50, 100, 150]],
  [[0.12, 0.43], 3, [0.2, 0.4]],
  [[-3, 2], 5, [-3, -2, -1, 0, 1, 2]],
] as const)("marks %j at round numbers", (range, count, expected) => {
  expect(roundTicks(range, count)).toEqual(expected);
});

it("ticks of steps are whole numbers, also of few steps", () => {
  expect(roundTicks([0, 3], 5, true)).toEqual([0, 1, 2, 3]);
  expect(roundTicks([0, 12], 5, true)).toEqual([0, 5, 10]);
  expect(roundTicks([0, 120], 5, true)).toEqual([0, 25, 50, 75, 100]);
});

it.each([
  [0, 1, "0.0, 0.2, 0.4, 0.6, 0.8, 1.0"],
  [-2, 2, "−2, −1, 0, 1, 2"],
  [1000, 1002, "1000.0, 1000.5, 1001.0, 1001.5, 1002.0"],
  [8000, 20_000, "10.0 k, 12.5 k, 15.0 k, 17.5 k, 20.0 k"],
  [0, 3e6, "0 M, 1 M, 2 M, 3 M"],
  [0, 4e-5, "0, 1e-5, 2e-5, 3e-5, 4e-5"],
])("labels of ticks tell them apart, with as few digits as that takes: %d to %d", (low, high, labels) => {
  expect(tickLabels(roundTicks([low, high], 5)).join(", ")).toBe(labels);
});

it("labels of ticks are as many different ones", () => {
  assert(
    property(
      double({ noNaN: true, min: -1e6, max: 1e6 }),
      double({ noNaN: true, min: 1e-3, max: 1e9 }),
      (low, size) => {
        const ticks = roundTicks([low, low + size], 5);
        expect(new Set(tickLabels(ticks)).size).toBe(ticks.length);
      },
    ),
  );
});

it("a range is never empty, and a scale reaches its ends", () => {
  expect([rangeOf([]), rangeOf([2]), rangeOf([2, -1])]).toEqual([
    [0, 1],
    [1, 3],
    [-1, 2],
  ]);
  expect([1, 2, 3].map(scaleOf([1, 3], [100, 0]))).toEqual([100, 50, 0]);
});

it("a text that is too long is cut to what fits", () => {
  expect(cutToWidth("short", 100, 12)).toBe("short");
  const cut = cutToWidth("a long title that has no room", 100, 12);
  expect(cut).toMatch(/^a long.*…$/);
  expect(widthOf(cut, 12)).toBeLessThanOrEqual(100);
});

describe("labels next to lines", () => {
  it("by hand: overlapping ones become a block around their middle; others stay", () => {
    expect(spread([50, 52, 100], [0, 200], 10)).toEqual([46, 56, 100]);
    expect(spread([52, 50, 58], [0, 200], 10)).toEqual([160 / 3, 160 / 3 - 10, 160 / 3 + 10]);
    expect(spread([1, 0], [0, 200], 10)).toEqual([10, 0]);
    expect(spread([199, 200], [0, 200], 10)).toEqual([190, 200]);
  });

  it("are apart, in order and within the range, whatever the positions", () => {
    const places = array(double({ min: 0, max: 200, noNaN: true }), { minLength: 2, maxLength: 15 });
    assert(
      property(places, (wanted) => {
        const placed = spread(wanted, [0, 200], 10);
        const pairs = wanted.map((place, index) => [place, placed[index] ?? NaN] as const);
        const inOrder = pairs.toSorted(([left], [right]) => left - right).map(([, place]) => place);
        const gaps = inOrder.slice(1).map((place, index) => place - (inOrder[index] ?? NaN));
        expect(Math.min(...gaps)).toBeGreaterThan(10 - 1e-9);
        expect(Math.min(...placed)).toBeGreaterThan(-1e-9);
        expect(Math.max(...placed)).toBeLessThan(200 + 1e-9);
      }),
    );
  });
});
