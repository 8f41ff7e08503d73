/** `troupe runs`: lists the runs of a folder; its subcommands compare, plot, export and remove runs, and show weights at servers. */
import { Command } from "commander";
import { listRuns } from "../../runs/read.ts";
import { noRuns } from "../find-run.ts";
import { printJson, printLines } from "../print.ts";
import { compareCommand } from "./compare.ts";
import { exportCommand } from "./export.ts";
import { type ListedRun, listedRun, listTable } from "./list.ts";
import { plotCommand } from "./plot.ts";
import { removeCommand } from "./remove.ts";
import { weightsCommand } from "./weights.ts";
import { runsFolder } from "../../command-line.ts";

export function runsCommand(): Command {
  const command = new Command("runs")
    .description(
      "list the runs and how far they are, also while they train; or compare, plot, export or remove some, or list weights at servers",
    )
    .enablePositionalOptions()
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(async (options: { runs: string; json?: boolean }) => {
      const runs = await Promise.all((await listRuns(options.runs)).map(listedRun));
      if (options.json) printJson(runs.map(toJson));
      else printLines(runs.length === 0 ? noRuns(options.runs) : listTable(runs));
    });
  for (const each of [compareCommand, plotCommand, exportCommand, removeCommand, weightsCommand])
    command.addCommand(each());
  return command;
}

function toJson({ summary, steps, environment, algorithm, before, latest, changed }: ListedRun): unknown {
  const { name, directory, status, step, result, problem } = summary;
  return {
    name,
    directory,
    status,
    step,
    steps,
    environment,
    algorithm,
    before,
    latest,
    changed,
    result: result ?? null,
    problem: problem ?? null,
  };
}
