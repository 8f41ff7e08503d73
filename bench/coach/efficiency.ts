/**
 * How fast the rows of a report learn: `node bench/coach/efficiency.ts docs/results/coach.json`. Mean over seeds with the 95 %
 * interval of Student's t; differences to the baseline are taken seed by seed.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { mean, meanInterval } from "../../src/statistics.ts";

const point = z.object({ sampledTokens: z.number(), success: z.number() });
const report = z.object({
  baseline: z.string(),
  rows: z.array(z.object({ name: z.string(), title: z.string() })),
  cells: z.array(
    z.object({
      row: z.string(),
      seed: z.number(),
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

const levels = [0.3, 0.4, 0.5] as const;

type Curves = ReadonlyMap<number, readonly Point[]>;

/** Of a row, by seed. */
function curvesOf(cells: z.infer<typeof report>["cells"], name: string): Curves {
  const own = cells.filter(({ row, status }) => row === name && status === "done");
  const trained = own.map(({ seed, numbers }) => [seed, numbers?.curve ?? []] as const);
  return new Map(trained.filter(([, curve]) => curve.length > 1));
}

function lineOf(title: string, curves: Curves, baseline: Curves): string {
  const all = [...curves.values()];
  const reached = levels.map((level) => tokensShown(all.map((curve) => tokensTo(level, curve))));
  const columns = [finalSuccess, meanSuccess].flatMap((measure) => [
    shown(all.map(measure)),
    curves === baseline ? "" : shown(differences(measure, curves, baseline)),
  ]);
  return `| ${[title, ...columns, ...reached].join(" | ")} |`;
}

function finalSuccess(curve: readonly Point[]): number {
  return curve.at(-1)?.success ?? 0;
}

/** Seed by seed: rows of a seed begin with the same warm start. */
function differences(
  measure: (curve: readonly Point[]) => number,
  curves: Curves,
  baseline: Curves,
): number[] {
  return [...curves].flatMap(([seed, curve]) => {
    const other = baseline.get(seed);
    return other === undefined ? [] : [measure(curve) - measure(other)];
  });
}

function tokensShown(tokens: readonly (number | null)[]): string {
  const known = tokens.filter((one) => one !== null);
  const note = known.length === tokens.length ? "" : ` (${known.length} of ${tokens.length} seeds)`;
  return known.length === 0 ? "never" : `${(mean(known) / 1000).toFixed(1)}${note}`;
}

function shown(values: readonly number[]): string {
  if (values.length === 0) return "";
  const interval = meanInterval(values);
  const range = interval === null ? "" : ` (${percent(interval.low)} to ${percent(interval.high)})`;
  return `${percent(mean(values))}${range}`;
}

function percent(value: number): string {
  return (100 * value).toFixed(1);
}

if (import.meta.main) {
  const { baseline, rows, cells } = report.parse(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")));
  const measures = ["final success", "difference", "mean success in training", "difference"];
  const heads = [...measures, ...levels.map((level) => `thousand tokens to ${100 * level} %`)];
  console.log(`| | ${heads.join(" | ")} |`);
  console.log(`|${" --- |".repeat(1 + heads.length)}`);
  const base = curvesOf(cells, baseline);
  for (const { name, title } of rows) {
    const curves = name === baseline ? base : curvesOf(cells, name);
    if (curves.size > 0) console.log(lineOf(title, curves, base));
  }
}
