import { expect, it } from "vitest";
import { barChart, type Line, lineChart, type LineChart, shareTicks, stepAxis } from "./chart.ts";
import { render } from "./markup.ts";
import { inline, page, svgFile } from "./page.ts";

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
