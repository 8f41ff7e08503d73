/** The report as one HTML page that needs nothing else: charts are SVG in the page, there are no scripts. */
import { showCount, showDuration } from "../../format.ts";
import { barChart } from "./bars.ts";
import { colourAt, colourOf } from "./colours.ts";
import { curveChart } from "./curves.ts";
import type { Child, Markup } from "./markup.ts";
import { element, render } from "./markup.ts";
import { pointChart } from "./points.ts";
import { style } from "./style.ts";
import type { Summary } from "./summary.ts";
import { seriesOf, totalSeconds } from "./summary.ts";
import { costTable, mainTable, publishedTable, seedTable } from "./tables.ts";
import * as text from "./text.ts";

export function htmlOf(summary: Summary): string {
  const sections = [
    header(summary),
    problems(summary),
    results(summary),
    bars(summary),
    curves(summary),
    series(summary),
    published(summary),
    costs(summary),
    origin(summary),
  ];
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    render(element("title", {}, summary.record.title)),
    `<style>${style}</style></head>`,
    render(element("body", {}, element("main", {}, sections))),
    "</html>\n",
  ].join("\n");
}

function header({ record, counts }: Summary): Child {
  const facts: readonly (readonly [string, string])[] = [
    [String(record.seeds.length), text.seedsOf(record)],
    [text.heldOutTasks(record), "held-out tasks for each number"],
    [`${counts.done} of ${record.cells.length}`, "cells done"],
    [showDuration(totalSeconds(record)), "of computing"],
    [
      showCount(record.cells.reduce((sum, { numbers }) => sum + (numbers?.tokens.sampled ?? 0), 0)),
      "tokens sampled in training",
    ],
  ];
  return [
    element("h1", {}, record.title),
    text.paragraphs(record.description).map((each) => element("p", { class: "lead" }, each)),
    element(
      "ul",
      { class: "facts" },
      facts.map(([figure, what]) => element("li", {}, element("b", {}, figure), element("span", {}, what))),
    ),
  ];
}

function problems({ counts, problems: failed }: Summary): Child {
  if (counts.failed + counts.missing === 0) return null;
  const items = failed.map(({ row, column, seed, problem = "" }) =>
    element("li", {}, element("b", {}, `${column}, ${row}, seed ${seed}`), `: ${problem}`),
  );
  return element(
    "div",
    { class: "card alert" },
    element("b", {}, "Not complete: "),
    `${counts.failed} cells failed, ${counts.missing} are missing.`,
    items.length === 0 ? null : element("ul", {}, items),
  );
}

function results(summary: Summary): Child {
  return section(
    "Results",
    text.legend(summary),
    element("div", { class: "card" }, mainTable(summary)),
    text.paragraphs(summary.record.notes).map((each) => element("p", {}, each)),
  );
}

function bars(summary: Summary): Child {
  const note =
    "Bars: mean over seeds. Whiskers: the 95 % interval of the table. Dots: the seeds. Grey: nothing is trained in the row.";
  return section(
    "Success",
    note,
    panels(summary, ({ name }) => barChart(summary, name)),
  );
}

function curves(summary: Summary): Child {
  const charts = summary.record.columns.map(({ name }) => curveChart(summary, name));
  if (charts.every((chart) => chart === null)) return null;
  const note =
    "Held-out success during reinforcement: the mean over seeds, in a band from the lowest to the highest seed. Dashed: rows " +
    "in which nothing is trained. Evaluations on the way may have fewer tasks than those at the end.";
  return section(
    "Learning curves",
    note,
    panels(summary, ({ name }) => curveChart(summary, name)),
    element(
      "div",
      { class: "legend" },
      summary.record.rows.map(({ name, title }) => chip(colourOf(summary.record, name), title)),
    ),
  );
}

function series(summary: Summary): Child {
  const lines = seriesOf(summary.record);
  if (lines.length === 0) return null;
  const { columns } = summary.record;
  const charts = lines.map((each) => card(each.of, pointChart(summary, each)));
  const legend = columns.map(({ title }, index) => chip(colourAt(index), title));
  return section(
    "Scaling",
    "Mean over seeds with its 95 % interval.",
    element("div", { class: "panels" }, charts),
    columns.length < 2 ? null : element("div", { class: "legend" }, legend),
  );
}

function published(summary: Summary): Child {
  const table = publishedTable(summary);
  if (table === null) return null;
  const note = `${summary.record.published?.source ?? ""}, in per cent. Other models and tasks: compare the pattern, not the numbers.`;
  return section("Published", note, element("div", { class: "card" }, table));
}

function costs(summary: Summary): Child {
  return section(
    "What it took",
    text.costLegend,
    element("div", { class: "card" }, costTable(summary)),
    details(
      "Every seed, and all tasks together",
      element("div", { class: "card" }, seedTable(summary)),
      element(
        "p",
        { class: "note" },
        "All tasks together: Wilson's 95 % interval over the tasks of all seeds; it leaves out how much seeds differ.",
      ),
    ),
  );
}

function origin({ record }: Summary): Child {
  return section(
    "How it was made",
    `${text.spentText(record)}. The numbers are in ${record.experiment}.json.`,
    element(
      "div",
      { class: "card" },
      element("pre", {}, record.command),
      record.sessions.map((session) => element("p", { class: "note" }, text.sessionText(session))),
    ),
  );
}

function section(title: string, note: string, ...children: readonly Child[]): Markup {
  return element("section", {}, element("h2", {}, title), element("p", { class: "note" }, note), children);
}

function panels(
  { record }: Summary,
  chart: (column: { readonly name: string; readonly title: string }) => Markup | null,
): Markup {
  const cards = record.columns.map((column) => {
    const drawn = chart(column);
    return drawn === null ? null : card(column.title, drawn);
  });
  return element("div", { class: "panels" }, cards);
}

function card(title: string, chart: Markup): Markup {
  return element("div", { class: "card" }, element("h3", {}, title), chart);
}

function chip(colour: string, title: string): Markup {
  return element("span", {}, element("span", { class: `chip ${colour}` }), title);
}

function details(title: string, ...children: readonly Child[]): Markup {
  return element("details", {}, element("summary", {}, title), children);
}
