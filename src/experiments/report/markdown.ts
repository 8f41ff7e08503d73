/** The report as Markdown. */
import { literal, markdownTable } from "../../charts/parts.ts";
import type { Summary } from "./summary.ts";
import { seriesOf } from "./summary.ts";
import {
  type Cell,
  costTable,
  mainTable,
  measureTables,
  publishedTables,
  seedTable,
  seriesTable,
  type Table,
} from "./tables.ts";
import * as text from "./text.ts";

export function markdownOf(summary: Summary, page: string): string {
  const { record } = summary;
  const parts = [
    `# ${literal(record.title)}`,
    ...text.paragraphs(record.description),
    `The same with learning curves: [${page}](${page}).`,
    text.legend(summary, literal),
    table(mainTable(summary)),
    ...problemParts(summary),
    ...text.paragraphs(record.notes),
    ...measureParts(summary),
    ...publishedParts(summary),
    ...seriesParts(summary),
    "## Every seed",
    table(seedTable(summary)),
    text.seedLegend,
    "## What it took",
    table(costTable(summary)),
    `${text.costLegend} ${text.spentText(summary)}`,
    "## How it was made",
    "```\n" + record.command + "\n```",
    list(text.sessionTexts(record)),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
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

function measureParts(summary: Summary): string[] {
  const tables = measureTables(summary).map(table);
  return tables.length === 0 ? [] : ["## Measures", text.measuresLegend(summary), ...tables];
}

function publishedParts(summary: Summary): string[] {
  const { published } = summary.record;
  if (published === undefined) return [];
  return ["## Published", text.publishedLegend(published.source), ...publishedTables(summary).map(table)];
}

function seriesParts(summary: Summary): string[] {
  return seriesOf(summary.record).flatMap((series) => [
    `## ${literal(series.of)}`,
    table(seriesTable(summary, series)),
  ]);
}

function table({ titles, rows }: Table): string {
  if (rows.length === 0) return "";
  return markdownTable(
    titles,
    rows.map((row) => row.map(cellText)),
  );
}

function cellText(cell: Cell): string {
  if (typeof cell === "string") return cell;
  if ("group" in cell) return literal(cell.group);
  if ("row" in cell) return literal(cell.title);
  const { mean, range, isBest, difference, note } = cell;
  const flag = note === "" ? "" : `_${note}_`;
  if (mean === "") return flag;
  const parts = [isBest ? `**${mean}**` : mean, `(${range})`, difference, flag];
  return parts.filter((part) => part !== "").join(" ");
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}
