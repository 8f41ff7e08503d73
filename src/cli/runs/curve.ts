/** A figure of a run over the steps of reinforcement. */
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { didYouMean } from "../../nearest.ts";
import { readTable } from "../../logging/tables/tables.ts";
import { readEvaluations, readMetrics } from "../../runs/read.ts";
import type { Evaluation } from "../../runs/records.ts";

export interface Point {
  /** Step of reinforcement; 0: before the first. */
  readonly step: number;
  readonly value: number;
}

export interface Curve {
  readonly name: string;
  /** By step. */
  readonly points: readonly Point[];
}

/** @param figure `success` of the team's evaluations, or a numeric column of metrics.jsonl */
export async function readCurve(
  { directory, name }: { readonly directory: string; readonly name: string },
  figure: string,
  mean: number,
): Promise<Curve> {
  const points = figure === "success" ? await successes(directory) : await metric(directory, figure);
  return { name, points: smoothed(points, mean) };
}

async function successes(directory: string): Promise<Point[]> {
  const metrics = await readMetrics(directory);
  const warmSteps = metrics.filter(({ stage }) => stage === "warm-start").length;
  const own = (await readEvaluations(directory)).filter(({ team }) => team === "team");
  if (own.length === 0) throw nothing(directory, "was not evaluated yet; --of rollout.score plots training");
  return own.map(({ step, success }: Evaluation) => ({
    step: Math.max(0, step - warmSteps),
    value: success,
  }));
}

async function metric(directory: string, column: string): Promise<Point[]> {
  const { columns, rows } = await readTable(directory, "metrics");
  const steps = rows.filter((row) => row.get("stage") === "reinforcement");
  const points = steps.flatMap((row) => {
    const [step, value] = [row.get("stageStep"), row.get(column)];
    return typeof step === "number" && typeof value === "number" ? [{ step, value }] : [];
  });
  if (points.length > 0) return points;
  const numeric = columns.filter((name) => steps.some((row) => typeof row.get(name) === "number"));
  const figures = ["success", ...numeric];
  const parts = figures.filter((name) => name.includes(column));
  const near = parts.length > 0 ? parts : figures;
  const hint = didYouMean(column, figures) ?? `it has ${near.join(", ")}`;
  throw nothing(directory, `has no figure ${column}; ${hint}`);
}

function nothing(directory: string, problem: string): TroupeError {
  return new TroupeError("bad_arguments", `${path.basename(directory)} ${problem}`);
}

/** The mean of each point and those up to `steps` - 1 steps before it: evaluations are further apart than other figures. */
export function smoothed(points: readonly Point[], steps: number): Point[] {
  return points.map(({ step: last }) => {
    const window = points.filter(({ step }) => step > last - steps && step <= last);
    return { step: last, value: window.reduce((sum, { value }) => sum + value, 0) / window.length };
  });
}

/** Round numbers that divide a range into about `count` parts, from the first inside it. */
export function roundTicks([low, high]: readonly [number, number], count: number): number[] {
  const rough = Math.max(high - low, Number.MIN_VALUE) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const first = Math.ceil(low / size);
  const length = Math.floor(high / size) - first + 1;
  // Rounded: 3 × 0.1 is not 0.3.
  return Array.from({ length }, (_, index) => Number(((first + index) * size).toPrecision(12)));
}

/** The range of the values: 0 to 1 for shares, otherwise theirs, never empty. */
export function rangeOf(curves: readonly Curve[], figure: string): readonly [number, number] {
  if (figure === "success") return [0, 1];
  const values = curves.flatMap(({ points }) => points.map(({ value }) => value));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? [low - 1, high + 1] : [low, high];
}

export function lastStep(curves: readonly Curve[]): number {
  return Math.max(1, ...curves.map(({ points }) => points.at(-1)?.step ?? 0));
}
