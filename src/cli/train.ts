/** `troupe train RECIPE`: trains a team. Repeating the command resumes an interrupted run. */
import { Command } from "commander";
import { openEngine } from "../engines/open.ts";
import { sourceOf } from "../environments/tasks.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import { showPath } from "../recipes/origin.ts";
import type { RunResult } from "../runs/records.ts";
import type { TrainOutcome } from "../train/train.ts";
import { train } from "../train/train.ts";
import { showLines } from "../format.ts";
import { whenOutputClosed } from "./closed-output.ts";
import { dryRun } from "./dry-run/dry-run.ts";
import { exitCodes } from "./exit.ts";
import { printLines } from "./print.ts";
import { finalLines } from "./progress/final.ts";
import type { Reporter } from "./progress/reporter.ts";
import { makeReporter } from "./progress/reporter.ts";
import { overridesOf, type PublishedFlags, withPublishedFlags } from "./published-flags.ts";
import type { OverrideOptions } from "./recipe-arguments.ts";
import { planArguments, resolveArguments, withRecipeArguments } from "./recipe-arguments.ts";
import { chooseRun } from "./run-name.ts";
import { listenForStop } from "./stopping.ts";
import { runsFolder } from "../command-line.ts";

interface TrainArguments extends OverrideOptions, PublishedFlags {
  readonly run?: string;
  readonly runs: string;
  readonly fresh?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function trainCommand(): Command {
  return withPublishedFlags(withRecipeArguments(new Command("train")))
    .description("train the team of a recipe, or resume an interrupted run")
    .option("--run <name>", "name of the run (default: the recipe's)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--fresh", "start a new run under a free name")
    .option("--dry-run", "show the resolved recipe and its cost; write nothing")
    .option("--json", "print events as JSON lines (with --dry-run: one JSON document)")
    .action(async (recipe: string, overrides: string[], options: TrainArguments) => {
      const override = [...(options.override ?? []), ...overridesOf(options)];
      if (options.dryRun)
        return dryRun(await planArguments(recipe, overrides, { override }), options.json === true);
      const resolved = await resolveArguments(recipe, overrides, { override });
      const choice = { ...options, runs: options.output_base_dir ?? options.runs };
      await trainAndReport(resolved, await chooseRun(resolved.recipe, choice), options.json === true);
    });
}

/** Trains in the folder, shows it, and sets the exit code. */
export async function trainAndReport(
  resolved: ResolvedRecipe,
  directory: string,
  json: boolean,
): Promise<TrainOutcome> {
  const mode = json ? "json" : process.stdout.isTTY ? "live" : "lines";
  const reporter = makeReporter(mode, process.stdout);
  using stopping = listenForStop(reporter.note);
  let isClosed = false;
  using _ = whenOutputClosed(() => {
    if (!isClosed) process.stderr.write("nobody reads the output any more: finishing the step and saving\n");
    isClosed = true;
    stopping.request();
  });
  const outcome = await trainWith(reporter, resolved, directory, stopping.stop);
  const note = isClosed ? (line: string) => void process.stderr.write(`${showLines(line)}\n`) : reporter.note;
  report(outcome, resolved, directory, { json, note });
  return outcome;
}

async function trainWith(
  reporter: Reporter,
  resolved: ResolvedRecipe,
  directory: string,
  stop: AbortSignal,
): Promise<TrainOutcome> {
  const engine = openEngine(resolved.recipe.engine);
  try {
    return await train({ ...resolved, directory, engine, onEvent: reporter.listen, stop });
  } finally {
    reporter.close();
    await engine.close();
  }
}

interface Output {
  readonly json: boolean;
  readonly note: Reporter["note"];
}

function report(
  outcome: TrainOutcome,
  resolved: ResolvedRecipe,
  directory: string,
  { json, note }: Output,
): void {
  if (outcome.status === "finished") {
    const available = availableTasks(resolved, outcome.result);
    if (!json) printLines(finalLines(outcome.result, showPath(directory), available));
    return;
  }
  const { step, checkpoint } = outcome;
  const where =
    checkpoint === null ? "starts over, since nothing was saved" : `resumes after step ${checkpoint}`;
  note(`stopped after step ${step}; the same command ${where}`);
  process.exitCode = exitCodes.interrupted;
}

/** An endless source that had fewer tasks than requested is exhausted. */
function availableTasks(
  { environment, recipe: { evaluation } }: ResolvedRecipe,
  { table }: RunResult,
): number {
  const { size } = sourceOf(environment, evaluation.split);
  const evaluated = Math.max(...table.map(({ tasks }) => tasks));
  return size ?? (evaluated < evaluation.tasks ? evaluated : Infinity);
}
