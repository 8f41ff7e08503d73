/** The report as one self-contained HTML page: charts are inline SVG, there are no scripts. */
import { showDuration, showLarge } from "../../format.ts";
import { barChart } from "./bars.ts";
import { chartFile, type Named } from "./chart-file.ts";
import { colourAt, colourOf } from "./colours.ts";
import { curveChart } from "./curves.ts";
import type { Child, Markup } from "./markup.ts";
import { element, render } from "./markup.ts";
import { sample } from "./marks.ts";
import { pointChart } from "./points.ts";
import { style } from "./style.ts";
import type { ReportRecord } from "../records.ts";
import type { Summary } from "./summary.ts";
import { seriesOf, spentOf } from "./summary.ts";
import { costTable, mainTable, measureTable, publishedTables, seedTable } from "./tables.ts";
import * as text from "./text.ts";

export function htmlOf(summary: Summary): string {
  const sections = [
    header(summary),
    problems(summary),
    results(summary),
    bars(summary),
    series(summary),
    curves(summary),
    measures(summary),
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
  const { added, sampled } = spentOf(record);
  const facts: readonly (readonly [string, string])[] = [
    [String(record.seeds.length), text.seedsOf(record)],
    [text.taskCount(record), `${text.splitsOf(record)} tasks for each number`],
    [`${counts.done.results} of ${counts.all.results}`, `results, from ${text.showSources(counts.done)}`],
    [showDuration(added), "times of cells added up"],
    [showLarge(sampled), "tokens sampled in training"],
  ];
  return [
    element("h1", {}, record.title),
    text.paragraphs(record.description).map((each) => element("p", { class: "lead" }, each)),
    element(
      "ul",
      { class: "facts" },
      facts.map(([fact, what]) => element("li", {}, element("b", {}, fact), element("span", {}, what))),
    ),
  ];
}

function problems({ counts, problems: failed }: Summary): Child {
  const incomplete = text.incompleteText(counts);
  if (incomplete === "") return null;
  const items = failed.map(({ row, column, seed, problem = "" }) =>
    element("li", {}, element("b", {}, `${column}, ${row}, seed ${seed}`), `: ${problem}`),
  );
  return element(
    "div",
    { class: "card alert" },
    element("b", {}, "Not complete: "),
    incomplete,
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

/** Rows that are points of a line have their own chart. */
function bars(summary: Summary): Child {
  if (summary.record.rows.every(({ point }) => point !== undefined)) return null;
  const note =
    "Bars: mean over seeds. Whiskers: the 95 % interval of the table. Dots: the seeds. Grey: nothing is trained in the row.";
  const charts = summary.record.columns.map(({ name, title }) =>
    figure(title, barChart(summary, { name, title }), { what: "success", named: [] }),
  );
  return section("Success", note, panels(charts));
}

function series(summary: Summary): Child {
  const lines = seriesOf(summary.record);
  if (lines.length === 0) return null;
  const { columns } = summary.record;
  const named = columns.map(({ title }, index) => ({ title, colour: colourAt(index) }));
  const inFile = columns.length < 2 ? [] : named;
  const charts = lines.map((each) =>
    figure(each.of, pointChart(summary, each), { what: "success", named: inFile }),
  );
  const note = "Mean over seeds with its 95 % interval.";
  return section("Scaling", note, panels(charts), columns.length < 2 ? null : legend(named));
}

function curves(summary: Summary): Child {
  const groups = curveGroups(summary.record);
  const charts = groups.flatMap((group) => groupCurves(summary, group));
  if (charts.length === 0) return null;
  const note =
    "Held-out success during reinforcement: the mean over seeds, in a band from the lowest to the highest seed. Dashed: rows " +
    "in which nothing is trained. At the right the success at the end, in per cent. Evaluations on the way may have another number of tasks.";
  const [first] = groups;
  const shared = groups.length > 1 || first === undefined ? null : legend(namesOf(summary, first.rows));
  return section("Learning curves", note, panels(charts), shared);
}

interface CurveGroup {
  /** Empty: all rows. */
  readonly of: string;
  readonly rows: ReportRecord["rows"];
}

/** The points of each line together; without lines, all rows. */
function curveGroups(record: ReportRecord): CurveGroup[] {
  const lines = seriesOf(record);
  if (lines.length === 0) return [{ of: "", rows: record.rows }];
  return lines.map(({ of }) => ({ of, rows: record.rows.filter(({ point }) => point?.of === of) }));
}

function groupCurves(summary: Summary, { of, rows }: CurveGroup): Markup[] {
  const { columns } = summary.record;
  return columns.flatMap(({ name, title }) => {
    const chart = curveChart(summary, { name, title }, rows);
    if (chart === null) return [];
    const named = namesOf(summary, rows);
    const own = { what: "learning curves", named };
    if (of === "") return [figure(title, chart, own)];
    return [figure(columns.length === 1 ? of : `${of}, ${title}`, chart, { ...own, inPage: legend(named) })];
  });
}

/** @param inPage the legend below the chart; without, the page has one for several charts */
interface Figure {
  /** Of the file, after the title. */
  readonly what: string;
  readonly named: readonly Named[];
  readonly inPage?: Child;
}

/** A chart with a link to it as a file of its own, in the page itself. */
function figure(title: string, chart: Markup, { what, named, inPage = null }: Figure): Markup {
  const href = `data:image/svg+xml;base64,${Buffer.from(chartFile(chart, named)).toString("base64")}`;
  const link = element("a", { class: "note", download: `${title}, ${what}.svg`, href }, "SVG");
  return card(title, chart, inPage, link);
}

function namesOf({ record }: Summary, rows: ReportRecord["rows"]): Named[] {
  return rows.map(({ name, title }) => ({ title, colour: colourOf(record, name) }));
}

function measures(summary: Summary): Child {
  const { columns, measures: shown = [] } = summary.record;
  if (shown.length === 0) return null;
  const cards = columns.map((column) => card(column.title, measureTable(summary, column)));
  return section("Measures", text.measuresLegend(summary), ...cards);
}

function published(summary: Summary): Child {
  const tables = publishedTables(summary);
  if (tables.length === 0) return null;
  const note = `${summary.record.published?.source ?? ""}, in per cent. Other models and tasks: compare the pattern, not the numbers.`;
  return section("Published", note, ...tables.map((each) => element("div", { class: "card" }, each)));
}

function costs(summary: Summary): Child {
  return section(
    "What it took",
    text.costLegend,
    element("div", { class: "card" }, costTable(summary)),
    details(
      "Every seed",
      element("div", { class: "card" }, seedTable(summary)),
      element(
        "p",
        { class: "note" },
        "Over the tasks: Wilson's 95 % interval over the tasks, which all seeds share; it leaves out how much seeds differ.",
      ),
    ),
  );
}

function origin(summary: Summary): Child {
  const { record } = summary;
  return section(
    "How it was made",
    `${text.spentText(summary)} The numbers are in ${record.experiment}.json.`,
    element(
      "div",
      { class: "card" },
      element("pre", {}, record.command),
      text.sessionTexts(record).map((each) => element("p", { class: "note" }, each)),
    ),
  );
}

function section(title: string, note: string, ...children: readonly Child[]): Markup {
  return element("section", {}, element("h2", {}, title), element("p", { class: "note" }, note), children);
}

function panels(cards: readonly Markup[]): Markup {
  return element("div", { class: "panels" }, cards);
}

function card(title: string, ...children: readonly Child[]): Markup {
  return element("div", { class: "card" }, element("h3", {}, title), children);
}

function legend(named: readonly Named[]): Markup {
  const entries = named.map(({ title, colour }) => element("span", {}, sample(colour), title));
  return element("div", { class: "legend" }, entries);
}

function details(title: string, ...children: readonly Child[]): Markup {
  return element("details", {}, element("summary", {}, title), children);
}
