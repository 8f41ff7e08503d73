/**
 * How fast the rows of a report learn: `node bench/coach/efficiency.ts docs/results/coach.json`. Mean over seeds with the 95 %
 * interval of Student's t.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { meanInterval } from "../../src/experiments/statistics.ts";
import { mean } from "../../src/statistics.ts";

const point = z.object({ sampledTokens: z.number(), success: z.number() });
const report = z.object({
  rows: z.array(z.object({ name: z.string(), title: z.string() })),
  cells: z.array(
    z.object({
      row: z.string(),
      status: z.string(),
      numbers: z.object({ success: z.number(), curve: z.array(point) }).optional(),
    }),
  ),
});

export type Point = z.infer<typeof point>;

/** Mean success over the tokens sampled in training: the area below the curve, in proportion to the tokens. */
export function meanSuccess(curve: readonly Point[]): number {
  const tokens = (curve.at(-1)?.sampledTokens ?? 0) - (curve[0]?.sampledTokens ?? 0);
  const areas = curve.slice(1).map((end, index) => {
    const start = curve[index] ?? end;
    return ((start.success + end.success) / 2) * (end.sampledTokens - start.sampledTokens);
  });
  return areas.reduce((sum, area) => sum + area, 0) / tokens;
}

/** Tokens after which the curve first reaches a success, between two evaluations on a line; null: it never does. */
export function tokensTo(success: number, curve: readonly Point[]): number | null {
  const at = curve.findIndex((one) => one.success >= success);
  const [before, after] = [curve[at - 1], curve[at]];
  if (after === undefined) return null;
  if (before === undefined) return after.sampledTokens;
  const share = (success - before.success) / (after.success - before.success);
  return before.sampledTokens + share * (after.sampledTokens - before.sampledTokens);
}

const levels = [0.3, 0.4, 0.5, 0.6] as const;

function lineOf(title: string, curves: readonly (readonly Point[])[]): string {
  const reached = levels.map((level) => {
    const tokens = curves.map((curve) => tokensTo(level, curve));
    const known = tokens.filter((one) => one !== null);
    const note = known.length === curves.length ? "" : ` (${known.length} of ${curves.length} seeds)`;
    return known.length === 0 ? "never" : `${(mean(known) / 1000).toFixed(1)}${note}`;
  });
  const final = curves.map((curve) => curve.at(-1)?.success ?? 0);
  return `| ${[title, shown(final), shown(curves.map(meanSuccess)), ...reached].join(" | ")} |`;
}

function percent(value: number): string {
  return (100 * Math.min(1, Math.max(0, value))).toFixed(1);
}

function shown(values: readonly number[]): string {
  const interval = meanInterval(values);
  const range = interval === null ? "" : ` (${percent(interval.low)} to ${percent(interval.high)})`;
  return `${percent(mean(values))}${range}`;
}

if (import.meta.main) {
  const { rows, cells } = report.parse(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")));
  const heads = levels.map((level) => `thousand tokens to ${100 * level} %`);
  console.log(`| | ${["final success", "mean success in training", ...heads].join(" | ")} |`);
  console.log(`|${" --- |".repeat(3 + levels.length)}`);
  for (const { name, title } of rows) {
    const own = cells.filter(({ row, status }) => row === name && status === "done");
    const curves = own.flatMap(({ numbers }) =>
      (numbers?.curve.length ?? 0) > 1 ? [numbers?.curve ?? []] : [],
    );
    if (curves.length > 0) console.log(lineOf(title, curves));
  }
}
