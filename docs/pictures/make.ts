/** `npm run pictures`: draws the SVGs of the pages from reports in docs/results, and the diagrams from text. */
import { readFileSync, writeFileSync } from "node:fs";
import { reportSchema } from "../../src/experiments/records.ts";
import { chartFile } from "../../src/experiments/report/chart-file.ts";
import { colourOf } from "../../src/experiments/report/colours.ts";
import { curveChart } from "../../src/experiments/report/curves.ts";
import { summarize } from "../../src/experiments/report/summary.ts";
import { diagrams } from "./diagrams.ts";

/** Rows of one column of a report, with the report's own chart. */
function learningCurves(report: string, column: string, rows: readonly string[]): string {
  const text = readFileSync(new URL(`../results/${report}.json`, import.meta.url), "utf8");
  const record = reportSchema.parse(JSON.parse(text));
  const drawnColumn = record.columns.find(({ name }) => name === column);
  const drawnRows = record.rows.filter(({ name }) => rows.includes(name));
  if (drawnColumn === undefined || drawnRows.length !== rows.length)
    throw new Error(`${report}.json has no column ${column} or lacks one of the rows ${rows.join(", ")}`);
  const chart = curveChart(summarize(record), drawnColumn, drawnRows);
  if (chart === null) throw new Error(`${report}.json has no learning curve in column ${column}`);
  const legend = drawnRows.map(({ name, title }) => ({ title, colour: colourOf(record, name) }));
  return chartFile(chart, legend);
}

const pictures = {
  "team-and-single-agent": learningCurves("at-grpo-table", "plan-path", [
    "single-agent-at-grpo",
    "team-shared",
  ]),
  coach: learningCurves("coach", "word-problems", ["outcome", "fair"]),
  ...diagrams,
};
for (const [name, svg] of Object.entries(pictures)) {
  const file = new URL(`${name}.svg`, import.meta.url);
  const framed = svg.replace(
    /viewBox="0 0 (\S+) (\S+)"/,
    '$& width="$1" height="$2" style="background: #ffffff"',
  );
  writeFileSync(file, `${framed}\n`);
  console.log(`docs/pictures/${name}.svg`);
}
