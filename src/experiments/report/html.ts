/** The report as one self-contained HTML page: charts are inline SVG, there are no scripts. */
import { showDuration, showLarge } from "../../format.ts";
import { type Child, element, type Markup } from "../../charts/markup.ts";
import { page } from "../../charts/page.ts";
import { figure, panels, section } from "../../charts/parts.ts";
import { colourOf, learningCurves, seriesChart, successBars } from "./charts.ts";
import type { Summary } from "./summary.ts";
import { seriesOf, spentOf } from "./summary.ts";
import {
  costTable,
  mainTable,
  measureTables,
  publishedTables,
  seedTable,
  type SuccessCell,
  type Table,
} from "./tables.ts";
import * as text from "./text.ts";

export function htmlOf(summary: Summary): string {
  return page(
    summary.record.title,
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
  );
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
    tableCards(summary, [mainTable(summary)]),
    text.paragraphs(summary.record.notes).map((each) => element("p", {}, each)),
  );
}

/** Rows that are points of a series have their own chart. */
function bars(summary: Summary): Child {
  if (summary.record.rows.every(({ point }) => point !== undefined)) return null;
  const note =
    "Bars: mean over seeds. Whiskers: the 95 % interval of the table. Dots: the seeds. Grey: nothing is trained in the row.";
  const charts = summary.record.columns.map((column) =>
    figure(column.title, "success", successBars(summary, column)),
  );
  return section("Success", note, panels(charts));
}

function series(summary: Summary): Child {
  const charts = seriesOf(summary.record).map((each) =>
    figure(each.of, "success", seriesChart(summary, each)),
  );
  if (charts.length === 0) return null;
  return section("Scaling", "Mean over seeds with its 95 % interval.", panels(charts));
}

function curves(summary: Summary): Child {
  const { rows, columns } = summary.record;
  const lines = seriesOf(summary.record);
  // The points of each series together; without series, all rows.
  const groups =
    lines.length === 0
      ? [{ of: "", rows }]
      : lines.map(({ of }) => ({ of, rows: rows.filter(({ point }) => point?.of === of) }));
  const charts = groups.flatMap((group) =>
    columns.flatMap((column) => {
      const chart = learningCurves(summary, column, group.rows);
      const titles = [group.of, ...(columns.length > 1 || group.of === "" ? [column.title] : [])];
      const title = titles.filter((each) => each !== "").join(", ");
      return chart === null ? [] : [figure(title, "learning curves", chart)];
    }),
  );
  if (charts.length === 0) return null;
  const note =
    "Held-out success during reinforcement: the mean over seeds, in a band from the lowest to the highest seed. Dashed: rows " +
    "in which nothing is trained. At the right the success at the end, in per cent. Evaluations on the way may have another number of tasks.";
  return section("Learning curves", note, panels(charts));
}

function measures(summary: Summary): Child {
  const tables = measureTables(summary);
  if (tables.length === 0) return null;
  return section("Measures", text.measuresLegend(summary), tableCards(summary, tables));
}

function published(summary: Summary): Child {
  const tables = publishedTables(summary);
  if (tables.length === 0) return null;
  const note = text.publishedLegend(summary.record.published?.source ?? "");
  return section("Published", note, tableCards(summary, tables));
}

function costs(summary: Summary): Child {
  return section(
    "What it took",
    text.costLegend,
    tableCards(summary, [costTable(summary)]),
    element(
      "details",
      {},
      element("summary", {}, "Every seed"),
      tableCards(summary, [seedTable(summary)]),
      element("p", { class: "note" }, text.seedLegend),
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

function tableCards(summary: Summary, tables: readonly Table[]): Markup[] {
  return tables.map((each) => element("div", { class: "card" }, htmlTable(summary, each)));
}

function htmlTable(summary: Summary, { titles, rows, numbersFrom = Infinity }: Table): Markup {
  const align = (index: number) => (index >= numbersFrom ? "right" : undefined);
  const head = titles.map((title, index) => element("th", { scope: "col", class: align(index) }, title));
  const body = rows.map((cells, row) =>
    element(
      "tr",
      {},
      cells.map((cell, index) => {
        if (typeof cell === "string") return element("td", { class: align(index) }, cell);
        if ("row" in cell) return rowTitle(summary, cell.row, cell.title);
        if (!("group" in cell)) return successCell(cell);
        const above = rows[row - 1]?.[index];
        const isRepeated = typeof above === "object" && "group" in above && above.group === cell.group;
        return element("td", { class: "label-cell" }, isRepeated ? "" : cell.group);
      }),
    ),
  );
  const parts = [element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)];
  return element("div", { class: "scroll" }, element("table", {}, parts));
}

/** The title of a row with its colour in the charts. */
function rowTitle({ record }: Summary, row: string, title: string): Markup {
  const isShown = record.rows.some(({ name }) => name === row);
  const chip = element("span", { class: isShown ? `chip ${colourOf(record, row)}` : "chip" });
  return element("th", { scope: "row" }, chip, title);
}

function span(kind: string, words: string): Markup | null {
  return words === "" ? null : element("span", { class: kind }, words);
}

function successCell({ mean, range, isBest, difference, clear, note }: SuccessCell): Markup {
  const change = span(clear === null ? "change" : `change ${clear}`, difference);
  const parts = [span("mean", mean), span("range", range), change, span("flag", note)];
  return element("td", { class: isBest ? "is-best" : undefined }, parts);
}
