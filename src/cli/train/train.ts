/** `troupe train RECIPE`: trains a team. Repeating the command resumes an interrupted run. */
import path from "node:path";
import { Command, Option } from "commander";
import { runsFolder, runsOption } from "../../command-line.ts";
import { sourceOf } from "../../environments/tasks.ts";
import { isPresentSync } from "../../present.ts";
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import { layoutOf } from "../../runs/layout.ts";
import type { Recipe } from "../../recipes/schema.ts";
import { findRecipe, shippedFolder } from "../../recipes/shipped.ts";
import { showPath } from "../../recipes/tree.ts";
import type { RunResult } from "../../runs/records.ts";
import { train, type TrainOutcome } from "../../train/run.ts";
import { showStep } from "../../train/state.ts";
import { trainedPolicies } from "../../train/teams.ts";
import { planArguments, resolveArguments, withRecipeArguments, type OverrideOptions } from "../arguments.ts";
import { whenOutputClosed, exitCodes, listenForStop } from "../exit.ts";
import { printLines, printNote } from "../print.ts";
import { terminalWidth } from "../table.ts";
import { dryRun } from "./dry-run/dry-run.ts";
import { finalLines, ownLines, showMinutes } from "./progress/final.ts";
import { makeReporter, type Reporter, type ReportMode } from "./progress/reporter.ts";
import { chooseRun } from "./run-name.ts";

interface TrainArguments extends OverrideOptions, PublishedFlags {
  readonly run?: string;
  readonly runs: string;
  readonly fresh?: boolean;
  readonly extend?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly guide?: boolean;
}

export function trainCommand(): Command {
  return withPublishedFlags(withRecipeArguments(new Command("train")))
    .description("train the team of a recipe, or resume an interrupted run")
    .option("--run <name>", "name of the run (default: the recipe's)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--fresh", "start a new run under a free name")
    .addOption(extendOption())
    .option("--dry-run", "show the resolved recipe and its cost; write nothing")
    .option("--quiet", "at most one line about steps every ten seconds, and no sample episodes")
    .option("--guide", "explain each stage, and show how one task is played as the team learns")
    .option("--json", "print events as JSON lines (with --dry-run: one JSON document)")
    .action(async (recipe: string, overrides: string[], options: TrainArguments) => {
      const override = [...(options.override ?? []), ...overridesOf(options)];
      if (options.dryRun)
        return dryRun(await planArguments(recipe, overrides, { override }), options.json === true);
      const resolved = await resolveArguments(recipe, overrides, { override });
      const choice = { ...options, runs: options.output_base_dir ?? options.runs };
      const { directory, recipe: own, note } = await chooseRun(resolved, choice);
      if (note !== undefined) printNote(note);
      const changes = [...overrides, ...override];
      const isIncluded = path.resolve(findRecipe(recipe)).startsWith(shippedFolder + path.sep);
      const known = changes.length > 0 ? undefined : (own.expected ?? (isIncluded ? {} : undefined));
      await trainAndReport({ ...resolved, recipe: own }, directory, {
        ...options,
        ...(known === undefined ? {} : { expected: known }),
        again: [recipe, ...changes.filter((each) => !each.startsWith("train.steps="))],
      });
    });
}

function extendOption(): Option {
  const help = "train a run further: give its recipe with more steps, train.steps=N";
  return new Option("--extend", help).conflicts("fresh");
}

export interface Reporting {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly guide?: boolean;
  /** Of a recipe without overrides: what was measured, if anything. Absent: nobody could have measured it. */
  readonly expected?: NonNullable<Recipe["expected"]>;
  /** The recipe as given, with its overrides but for the number of steps. Absent: the run cannot be extended. */
  readonly again?: readonly string[];
}

/** Trains in the folder, shows it, and sets the exit code. */
export async function trainAndReport(
  resolved: ResolvedRecipe,
  directory: string,
  options: Reporting,
): Promise<TrainOutcome> {
  const { guide = false, expected } = options;
  const reporter = makeReporter({ mode: modeOf(options), guide }, process);
  if (guide && expected?.minutes !== undefined)
    reporter.note(`${resolved.recipe.name}: about ${showMinutes(expected.minutes)} on two quiet cores`);
  using stopping = listenForStop(reporter.note);
  let isClosed = false;
  using _ = whenOutputClosed(() => {
    if (!isClosed) reporter.note("nobody reads the output any more: stopping and saving");
    isClosed = true;
    stopping.request();
  });
  const outcome = await trainWith(reporter, { ...resolved, preview: guide }, directory, stopping.stop);
  if (outcome.status === "finished") reportResult(outcome.result, resolved, directory, options);
  else reportStop(outcome, resolved, reporter);
  return outcome;
}

function modeOf({ json, quiet }: Reporting): ReportMode {
  if (json) return "json";
  if (quiet) return "quiet";
  return process.stderr.isTTY ? "live" : "lines";
}

async function trainWith(
  reporter: Reporter,
  resolved: ResolvedRecipe & { readonly preview: boolean },
  directory: string,
  stop: AbortSignal,
): Promise<TrainOutcome> {
  const engine = await resolved.configuredEngine.open({
    run: path.basename(directory),
    log: layoutOf(directory).engineLog,
  });
  reporter.watch?.(engine);
  try {
    return await train({ ...resolved, directory, engine, onEvent: reporter.listen, stop });
  } finally {
    reporter.close();
    await engine.close();
  }
}

function reportResult(
  result: RunResult,
  resolved: ResolvedRecipe,
  directory: string,
  { json, guide, expected, again }: Reporting,
): void {
  if (json) return;
  const { recipe } = resolved;
  const width = terminalWidth();
  printLines([
    ...finalLines(result, showPath(directory), {
      available: availableTasks(resolved, result),
      wanted: recipe.evaluation,
      expected,
      extending: again && extendingOf(again, recipe, directory),
      exporting: exportingOf(resolved, directory),
      isBestKept: isBestKept(result, directory),
      isPlayable: resolved.environment.drive === undefined,
      width,
    }),
    ...(guide ? ["", ...ownLines(recipe.name, width)] : []),
  ]);
}

/** Somebody may have deleted it to save space. */
function isBestKept({ best }: RunResult, directory: string): boolean {
  return best !== undefined && isPresentSync(path.join(layoutOf(directory).checkpoints, `step-${best.step}`));
}

/** What servers keep is downloaded first. */
function exportingOf(
  { recipe, configuredEngine }: ResolvedRecipe,
  directory: string,
): readonly string[] | undefined {
  const name = path.basename(directory);
  if (configuredEngine.servers !== null) return ["runs", "weights", name];
  const [trained] = trainedPolicies(recipe);
  const isOnly = Object.keys(recipe.policies).length === 1;
  if (trained === undefined) return undefined;
  return ["export", name, ...(isOnly ? [] : [trained]), "--to", "merged"];
}

/** The words after `train` for a run twice as long. */
function extendingOf(
  again: readonly string[],
  { name, train: { steps } }: Recipe,
  directory: string,
): readonly string[] {
  const run = path.basename(directory);
  return [
    ...again,
    `train.steps=${2 * steps}`,
    ...(run === name ? [] : ["--run", run]),
    ...runsOption(path.dirname(showPath(directory))),
    "--extend",
  ];
}

function reportStop(
  { step, checkpoint, because }: Extract<TrainOutcome, { status: "interrupted" }>,
  { recipe }: ResolvedRecipe,
  reporter: Reporter,
): void {
  const placed = (at: number): string => (at === 0 ? "no step" : showStep(recipe, at));
  const where =
    checkpoint === null ? "starts over, since nothing was saved" : `resumes after ${placed(checkpoint)}`;
  if (because !== undefined) reporter.note(because);
  reporter.note(`stopped after ${placed(step)}; the same command ${where}`);
  process.exitCode = exitCodes.interrupted;
}

/** An endless source that had fewer tasks than requested is exhausted. */
function availableTasks(
  { environment, recipe: { evaluation } }: ResolvedRecipe,
  { table }: RunResult,
): number {
  const { size } = sourceOf(environment, evaluation.split);
  const evaluated = Math.max(...table.map(({ tasks, failed = 0 }) => tasks + failed));
  return size ?? (evaluated < evaluation.tasks ? evaluated : Infinity);
}

export interface PublishedFlags {
  readonly model_name?: string;
  readonly num_epochs?: string;
  readonly num_turns?: string;
  readonly turn_gradient_weights?: readonly string[];
  /** Folder of the runs. */
  readonly output_base_dir?: string;
}

const flags = [
  ["--model_name <name>", "model of every policy"],
  ["--num_epochs <number>", "passes over the problems"],
  ["--num_turns <number>", "turns of an episode"],
  ["--turn_gradient_weights <w...>", "one per turn"],
  ["--output_base_dir <folder>", "folder of the runs"],
] as const;

/** The flags of MAGRPO's training scripts, which win over `--override`. */
function withPublishedFlags(command: Command): Command {
  for (const [flag, meaning] of flags) {
    command.addOption(new Option(flag, meaning).helpGroup("Flags of MAGRPO's scripts:"));
  }
  return command;
}

/** The flags as overrides. */
function overridesOf(given: PublishedFlags): readonly string[] {
  const { model_name: model, num_epochs: epochs, num_turns: turns, turn_gradient_weights: weights } = given;
  return [
    ...(model === undefined ? [] : [`model.name=${model}`]),
    ...(epochs === undefined ? [] : [`magrpo.num_train_epochs=${epochs}`]),
    ...(turns === undefined ? [] : [`magrpo.num_turns=${turns}`]),
    ...(weights === undefined ? [] : [`magrpo.turn_gradient_weights=[${weights.join(",")}]`]),
  ];
}
