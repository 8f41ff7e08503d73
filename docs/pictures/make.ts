/** `npm run pictures`: draws the SVGs of the pages from reports in docs/results, from environments, and from text. */
import { readFileSync, writeFileSync } from "node:fs";
import { svgFile } from "../../src/charts/page.ts";
import { reportSchema } from "../../src/experiments/records.ts";
import { learningCurves } from "../../src/experiments/report/charts.ts";
import { summarize } from "../../src/experiments/report/summary.ts";
import { boards } from "./boards.ts";
import { diagrams } from "./diagrams.ts";
import { panel } from "./panel.ts";

/** Rows of one column of a report, with the report's own chart. */
function curves(report: string, column: string, rows: readonly string[]): string {
  const text = readFileSync(new URL(`../results/${report}.json`, import.meta.url), "utf8");
  const record = reportSchema.parse(JSON.parse(text));
  const drawnColumn = record.columns.find(({ name }) => name === column);
  const drawnRows = record.rows.filter(({ name }) => rows.includes(name));
  if (drawnColumn === undefined || drawnRows.length !== rows.length)
    throw new Error(`${report}.json has no column ${column} or lacks one of the rows ${rows.join(", ")}`);
  const chart = learningCurves(summarize(record), drawnColumn, drawnRows, { width: 660, height: 300 });
  if (chart === null) throw new Error(`${report}.json has no learning curve in column ${column}`);
  return svgFile(chart);
}

const pictures = {
  "team-and-single-agent": curves("at-grpo-table", "plan-path", ["single-agent-at-grpo", "team-shared"]),
  coach: curves("coach", "word-problems", ["outcome", "fair"]),
  boards: boards(),
  panel: panel(),
  ...diagrams,
};
for (const [name, svg] of Object.entries(pictures)) {
  writeFileSync(new URL(`${name}.svg`, import.meta.url), `${svg}\n`);
  console.log(`docs/pictures/${name}.svg`);
}
