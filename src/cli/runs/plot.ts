/** `troupe runs plot`: a figure of runs over the steps of reinforcement, in the terminal or as an SVG or HTML file. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { type Chart, type Line, lineChart, type LineChart, stepChart } from "../../charts/chart.ts";
import { element } from "../../charts/markup.ts";
import { colourAt, inline, page, svgFile } from "../../charts/page.ts";
import { textChart } from "../../charts/text.ts";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { showNumber } from "../../format.ts";
import { readTable } from "../../logging/tables/tables.ts";
import { didYouMean, nearestName } from "../../nearest.ts";
import { onCommonTasks } from "../../runs/common-tasks.ts";
import { readEvaluations, readMetrics } from "../../runs/read.ts";
import { findRun } from "../places.ts";
import { wholeNumber } from "../arguments.ts";
import { printLines } from "../print.ts";
import { labelsOf } from "./labels.ts";

interface PlotOptions {
  readonly runs: string;
  readonly of: string;
  readonly mean: number;
  readonly out?: string;
}

export function plotCommand(): Command {
  return new Command("plot")
    .description("plot success, or any figure of metrics.jsonl, over the steps of reinforcement")
    .argument("<runs...>", "names or folders of runs")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--of <figure>", "success, or a column of `runs export`: rollout.score", "success")
    .option("--mean <steps>", "mean over this many steps", wholeNumber(1), 1)
    .option("--out <file>", "an .svg or .html file; default: the terminal")
    .action(async (names: string[], { runs, of: figure, mean, out }: PlotOptions) => {
      const directories = [...new Set(await Promise.all(names.map((name) => findRun(name, runs))))];
      const labels = labelsOf(directories);
      const curves = await Promise.all(
        directories.map(async (directory, index): Promise<Curve> => {
          const points = figure === "success" ? successes(directory) : metric(directory, figure);
          return { name: labels[index] ?? directory, points: smoothed(await points, mean) };
        }),
      );
      const chart = plotOf(curves, figure);
      // Not printLines, which would remove the colours.
      if (out === undefined) process.stdout.write(textChart(chart, process.stdout));
      else write(out, chart, figure);
    });
}

export interface Curve {
  readonly name: string;
  /** By step of reinforcement; 0: before the first. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** The share of successes in the team's evaluations, on the tasks that all of them have. */
async function successes(directory: string): Promise<Curve["points"]> {
  const metrics = await readMetrics(directory);
  const warmSteps = metrics.filter(({ stage }) => stage === "warm-start").length;
  const own = (await readEvaluations(directory)).filter(({ team }) => team === "team");
  if (own.length === 0) throw nothing(directory, "was not evaluated yet; --of rollout.score plots training");
  return onCommonTasks(own).map(({ step, success }) => ({ x: Math.max(0, step - warmSteps), y: success }));
}

/** A numeric column of metrics.jsonl. */
async function metric(directory: string, column: string): Promise<Curve["points"]> {
  const { columns, rows } = await readTable(directory, "metrics");
  const steps = rows.filter((row) => row.get("stage") === "reinforcement");
  const points = steps.flatMap((row) => {
    const [x, y] = [row.get("stageStep"), row.get(column)];
    return typeof x === "number" && typeof y === "number" ? [{ x, y }] : [];
  });
  if (points.length > 0) return points;
  const numeric = columns.filter((name) => steps.some((row) => typeof row.get(name) === "number"));
  const figures = ["success", ...numeric];
  const parts = figures.filter((name) => name.includes(column));
  const near = parts.length > 0 ? parts : alikeIn(figures, column);
  const hint = didYouMean(column, near) ?? `it has ${near.join(", ")}`;
  throw nothing(directory, `has no figure ${column}; ${hint}`);
}

/**
 * Those that measure the same, as the last part of the name says: `rollout.entropi` means one like
 * `rollout.roles.scout.entropy`, and not `rollout.groups`, which differs in fewer letters. All, if none does.
 */
function alikeIn(figures: readonly string[], column: string): readonly string[] {
  const wanted = nearestName(lastPart(column), figures.map(lastPart));
  return wanted === undefined ? figures : figures.filter((name) => lastPart(name) === wanted);
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function nothing(directory: string, problem: string): TroupeError {
  return new TroupeError("bad_arguments", `${path.basename(directory)} ${problem}`);
}

/** The mean of each point and those up to `steps` - 1 steps before it: evaluations are further apart than other figures. */
export function smoothed(points: Curve["points"], steps: number): Curve["points"] {
  return points.map(({ x: last }) => {
    const window = points.filter(({ x }) => x > last - steps && x <= last);
    return { x: last, y: window.reduce((sum, { y }) => sum + y, 0) / window.length };
  });
}

export function plotOf(curves: readonly Curve[], figure: string): LineChart {
  const lines = curves.map(({ name, points }, index): Line => {
    const [first, last] = [points[0], points.at(-1)];
    const note = `${showNumber(first?.y ?? NaN)} → ${showNumber(last?.y ?? NaN)} at step ${last?.x ?? 0}`;
    return { name, note, colour: colourAt(index), points };
  });
  return stepChart(figure, lines, figure === "success");
}

function write(out: string, plot: LineChart, figure: string): void {
  const names = plot.lines.map(({ name }) => name).join(", ");
  const chart = lineChart(plot, { width: 720, height: 400 });
  try {
    writeFileSync(out, fileOf(out, chart, figure, names));
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause;
    const problem = `${out} cannot be written: ${(cause as Error).message}`;
    throw new TroupeError("bad_arguments", problem, { cause });
  }
  printLines([`${figure} of ${names} in ${out}`]);
}

function fileOf(out: string, chart: Chart, figure: string, names: string): string {
  if (out.endsWith(".svg")) return `${svgFile(chart)}\n`;
  if (!out.endsWith(".html"))
    throw new TroupeError("bad_arguments", `${out}: the file's name must end in .svg or .html`);
  const body = [element("h1", {}, figure), element("p", { class: "lead" }, names)];
  return page(figure, body, element("div", { class: "card" }, inline(chart)));
}
