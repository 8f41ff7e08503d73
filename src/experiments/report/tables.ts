/** The tables of the page. */
import { type Child, element, type Markup } from "../../charts/markup.ts";
import { colourOf } from "./charts.ts";
import type { Entry, Summary } from "./summary.ts";
import { costsOf, entryAt } from "./summary.ts";
import * as text from "./text.ts";

export function mainTable(summary: Summary): Markup {
  const { rows, columns } = summary.record;
  return table(
    ["", ...columns.map(({ title }) => title)],
    rows.map(({ name, title }) => [
      rowTitle(summary, name, title),
      ...columns.map((column) => mainCell(summary, entryAt(summary, name, column.name))),
    ]),
  );
}

/** The title of a row with its colour in the charts. */
function rowTitle(summary: Summary, row: string, title: string): Markup {
  const isShown = summary.record.rows.some(({ name }) => name === row);
  const chip = element("span", { class: isShown ? `chip ${colourOf(summary.record, row)}` : "chip" });
  return element("th", { scope: "row" }, chip, title);
}

function mainCell(summary: Summary, entry: Entry | undefined): Markup {
  if (entry === undefined) return element("td", {});
  const { success, isBest } = entry;
  const note = text.incomplete(entry);
  const flag = note === "" ? null : element("span", { class: "flag" }, note);
  if (success === null) return element("td", {}, flag);
  const difference = text.differenceOf(summary, entry);
  const direction = difference === null || difference.mean > 0 ? "up" : "down";
  const change =
    difference === null
      ? null
      : element(
          "span",
          { class: difference.isClear ? `change ${direction}` : "change" },
          text.differenceText(difference),
        );
  return element(
    "td",
    { class: isBest ? "is-best" : undefined },
    element("span", { class: "mean" }, text.perCent(success.mean)),
    element("span", { class: "range" }, text.showRange(success.interval)),
    change,
    flag,
  );
}

export function seedTable(summary: Summary): Markup {
  const { rows, columns, seeds } = summary.record;
  const body = columns.flatMap((column) =>
    rows.map(({ name, title }): [string, ...Child[]] => {
      const entry = entryAt(summary, name, column.name);
      const bySeed = new Map(entry?.seeds.map((seed, index) => [seed, entry.numbers[index]?.success]));
      const values = seeds.map((seed) => {
        const value = bySeed.get(seed);
        return right(value === undefined ? "–" : text.perCent(value));
      });
      const overTasks = right(entry?.success ? text.overTasksText(entry.success) : "");
      return [column.title, rowTitle(summary, name, title), ...values, overTasks];
    }),
  );
  return table(["", "", ...seeds.map((seed) => `seed ${seed}`), "over the tasks"], grouped(body), 2);
}

export function costTable(summary: Summary): Markup {
  const body = costsOf(summary.record).map((cost): [string, ...Child[]] => {
    const [column = "", , ...numbers] = text.costCells(cost);
    return [column, rowTitle(summary, cost.row, cost.title), ...numbers.map(right)];
  });
  return table(text.costTitles, grouped(body), 2);
}

/** Of one column of the experiment. */
export function measureTable(
  summary: Summary,
  column: { readonly name: string; readonly title: string },
): Markup {
  const { rows, measures = [] } = summary.record;
  const body = rows.map(({ name, title }) => {
    const entry = entryAt(summary, name, column.name);
    const cells = measures.map((each) => right(entry ? text.measureText(entry, each) : ""));
    return [rowTitle(summary, name, title), ...cells];
  });
  return table(["", ...measures.map(({ title }) => title)], body, 1);
}

export function publishedTables(summary: Summary): Markup[] {
  const { record } = summary;
  const { published, rows, columns } = record;
  if (published === undefined) return [];
  const shown = rows.filter(({ name }) => Object.hasOwn(published.values, name));
  const body = shown.map(({ name, title }) => [
    rowTitle(summary, name, title),
    ...columns.map((column) => element("td", {}, published.values[name]?.[column.name]?.toFixed(1) ?? "")),
  ]);
  const values = body.length === 0 ? [] : [table(["", ...columns.map(({ title }) => title)], body)];
  const measured = columns.flatMap(({ name, title }) => {
    const { titles, rows: found } = text.publishedMeasures(record, name);
    if (found.length === 0) return [];
    const cells = found.map(([row, ...numbers]) => [row, ...numbers.map(right)]);
    return [table([columns.length === 1 ? "" : title, ...titles], cells, 1)];
  });
  return [...values, ...measured];
}

/** The first cell of each row names its group; repetitions are omitted. */
function grouped(rows: readonly (readonly [string, ...Child[]])[]): Child[][] {
  return rows.map(([group, ...cells], index) => {
    const isSaid = rows[index - 1]?.[0] === group;
    return [element("td", { class: "label-cell" }, isSaid ? "" : group), ...cells];
  });
}

function right(value: string): Markup {
  return element("td", { class: "right" }, value);
}

/** @param numbersFrom the first column with numbers, whose title is right-aligned */
function table(
  titles: readonly string[],
  rows: readonly (readonly Child[])[],
  numbersFrom = Infinity,
): Markup {
  const head = titles.map((title, index) =>
    element("th", { scope: "col", class: index >= numbersFrom ? "right" : undefined }, title),
  );
  return element(
    "div",
    { class: "scroll" },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, head)),
      element(
        "tbody",
        {},
        rows.map((cells) => element("tr", {}, cells)),
      ),
    ),
  );
}
