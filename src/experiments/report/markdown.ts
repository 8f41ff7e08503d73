/** The report as Markdown. */
import type { Cost, Summary } from "./summary.ts";
import { costsOf, entryAt, seriesOf } from "./summary.ts";
import * as text from "./text.ts";

export function markdownOf(summary: Summary, page: string): string {
  const { record } = summary;
  const parts = [
    `# ${literal(record.title)}`,
    ...text.paragraphs(record.description),
    `The same with learning curves: [${page}](${page}).`,
    text.legend(summary, literal),
    table(["", ...titlesOf(record.columns)], mainRows(summary)),
    ...problemParts(summary),
    ...text.paragraphs(record.notes),
    ...measureParts(summary),
    ...publishedParts(summary),
    ...seriesParts(summary),
    "## Every seed",
    table(["", "", ...record.seeds.map((seed) => `seed ${seed}`), "over the tasks"], seedRows(summary)),
    "The last column is Wilson's 95 % interval over the tasks, which all seeds share; it leaves out how much seeds differ.",
    "## What it took",
    table([...text.costTitles], costsOf(record).map(costRow)),
    `${text.costLegend} ${text.spentText(summary)}`,
    "## How it was made",
    "```\n" + record.command + "\n```",
    list(text.sessionTexts(record)),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function mainRows(summary: Summary): string[][] {
  const { rows, columns } = summary.record;
  return rows.map(({ name, title }) => [
    literal(title),
    ...columns.map((column) => mainCell(summary, name, column.name)),
  ]);
}

function mainCell(summary: Summary, row: string, column: string): string {
  const entry = entryAt(summary, row, column);
  if (entry === undefined) return "";
  const { success } = entry;
  const note = text.incomplete(entry);
  if (success === null) return `_${note}_`;
  const mean = text.perCent(success.mean);
  const difference = text.differenceOf(summary, entry);
  return [
    entry.isBest ? `**${mean}**` : mean,
    `(${text.showRange(success.interval)})`,
    difference === null ? "" : text.differenceText(difference),
    note === "" ? "" : `_${note}_`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function problemParts({ problems, counts }: Summary): string[] {
  const incomplete = text.incompleteText(counts);
  if (incomplete === "") return [];
  const lines = problems.map(
    ({ row, column, seed, problem = "" }) =>
      `${column}, ${row}, seed ${seed}: ${problem.replaceAll(/\s+/g, " ")}`,
  );
  return [`**Not complete:** ${incomplete}`, list(lines)];
}

/** One table for each column of the experiment. */
function measureParts(summary: Summary): string[] {
  const { rows, columns, measures = [] } = summary.record;
  if (measures.length === 0) return [];
  const tables = columns.flatMap((column) => {
    const cells = rows.map((row) => {
      const entry = entryAt(summary, row.name, column.name);
      return [literal(row.title), ...measures.map((each) => (entry ? text.measureText(entry, each) : ""))];
    });
    const titles = [columns.length === 1 ? "" : literal(column.title), ...titlesOf(measures)];
    return [table(titles, cells)];
  });
  return ["## Measures", text.measuresLegend(summary), ...tables];
}

function publishedParts({ record }: Summary): string[] {
  const { published, columns } = record;
  if (published === undefined) return [];
  const rows = record.rows
    .filter(({ name }) => Object.hasOwn(published.values, name))
    .map(({ name, title }) => [
      literal(title),
      ...columns.map((column) => published.values[name]?.[column.name]?.toFixed(1) ?? ""),
    ]);
  const titles = ["", ...titlesOf(columns)];
  const measured = columns.map(({ name, title }) => {
    const { titles: own, rows: values } = text.publishedMeasures(record, name);
    const body = values.map(([row, ...cells]) => [literal(row), ...cells]);
    return table([columns.length === 1 ? "" : literal(title), ...own.map(literal)], body);
  });
  return [
    "## Published",
    `${published.source}, in per cent. Other models and tasks: compare the pattern, not the numbers.`,
    table(titles, rows),
    ...measured,
  ];
}

function seriesParts(summary: Summary): string[] {
  const { columns } = summary.record;
  return seriesOf(summary.record).flatMap(({ of, points }) => {
    const rows = points.map(({ at, row }) => [
      String(at),
      ...columns.map(({ name }) => mainCell(summary, row, name)),
    ]);
    return [`## ${literal(of)}`, table([literal(of), ...titlesOf(columns)], rows)];
  });
}

function seedRows(summary: Summary): string[][] {
  const { rows, columns, seeds } = summary.record;
  return columns.flatMap((column) =>
    rows.map((row) => {
      const entry = entryAt(summary, row.name, column.name);
      const bySeed = new Map(entry?.seeds.map((seed, index) => [seed, entry.numbers[index]?.success]));
      const values = seeds
        .map((seed) => bySeed.get(seed))
        .map((value) => (value === undefined ? "–" : text.perCent(value)));
      const overTasks = entry?.success ? text.overTasksText(entry.success) : "";
      return [literal(column.title), literal(row.title), ...values, overTasks];
    }),
  );
}

function costRow(cost: Cost): readonly string[] {
  return text.costCells({ ...cost, column: literal(cost.column), title: literal(cost.title) });
}

/** Columns are padded with blanks, so that the source is readable. */
function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const cells = [titles, ...rows].map((row) => row.map(escaped));
  const widths = titles.map((_, index) => Math.max(3, ...cells.map((row) => row[index]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, index) => (row[index] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  const [head = [], ...body] = cells;
  return [line(head), line(rule), ...body.map(line)].join("\n");
}

function titlesOf(titled: readonly { readonly title: string }[]): string[] {
  return titled.map(({ title }) => literal(title));
}

/** Titles are text, not markup. */
function literal(title: string): string {
  return title.replaceAll(/[\\`*_<[\]]/g, String.raw`\$&`).replaceAll("\n", " ");
}

function escaped(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}
