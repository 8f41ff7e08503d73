/** `troupe runs plot`: a figure of runs over the steps of reinforcement, in the terminal or as an SVG or HTML file. */
import { writeFileSync } from "node:fs";
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { wholeNumber } from "../arguments.ts";
import { findRun } from "../places.ts";
import { printLines } from "../print.ts";
import { curvePage, curveSvg } from "./curve-svg.ts";
import { curveText } from "./curve-text.ts";
import { readCurve, type Curve } from "./curve.ts";
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
    .action(async (names: string[], options: PlotOptions) => {
      const directories = [...new Set(await Promise.all(names.map((name) => findRun(name, options.runs))))];
      const labels = labelsOf(directories);
      const curves = await Promise.all(
        directories.map((directory, index) =>
          readCurve({ directory, name: labels[index] ?? directory }, options.of, options.mean),
        ),
      );
      // Not printLines, which would remove the colours.
      if (options.out === undefined) process.stdout.write(curveText(curves, options.of, process.stdout));
      else write(options.out, curves, options.of);
    });
}

function write(out: string, curves: readonly Curve[], figure: string): void {
  const render = out.endsWith(".svg") ? curveSvg : out.endsWith(".html") ? curvePage : undefined;
  if (render === undefined)
    throw new TroupeError("bad_arguments", `${out}: the file's name must end in .svg or .html`);
  try {
    writeFileSync(out, render(curves, figure));
  } catch (cause) {
    const problem = `${out} cannot be written: ${(cause as Error).message}`;
    throw new TroupeError("bad_arguments", problem, { cause });
  }
  printLines([`${figure} of ${curves.map(({ name }) => name).join(", ")} in ${out}`]);
}
