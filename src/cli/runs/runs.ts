/** `troupe runs`: lists the runs of a folder; its subcommands compare, plot, export and remove runs, and show weights at servers. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { showDuration, showShare } from "../../format.ts";
import { isPresentSync } from "../../present.ts";
import { showPath } from "../../recipes/tree.ts";
import { listRuns, readEvaluations, readRecipe, type RunSummary } from "../../runs/read.ts";
import type { Evaluation } from "../../runs/records.ts";
import { noRuns } from "../places.ts";
import { printJson, printLines } from "../print.ts";
import { tableLines, terminalWidth } from "../table.ts";
import { compareCommand } from "./compare.ts";
import { exportCommand } from "./export.ts";
import { plotCommand } from "./plot.ts";
import { removeCommand } from "./remove.ts";
import { weightsCommand } from "./weights.ts";

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

export interface ListedRun {
  readonly summary: RunSummary;
  /** All that the recipe asks for, over both stages. Null: the recipe cannot be read. */
  readonly steps: number | null;
  /** Name or module. */
  readonly environment: string;
  readonly algorithm: string;
  /** The team's held-out success before reinforcement, and in the last evaluation since. Null: not evaluated. */
  readonly before: number | null;
  readonly latest: number | null;
  /** ISO 8601, UTC. */
  readonly changed: string;
}

/** One line per run: what it trains, how far it is, and its success. */
async function listedRun(summary: RunSummary): Promise<ListedRun> {
  const { directory } = summary;
  const recipe = (await orNothing(readRecipe(directory))) as RecipeParts | undefined;
  const evaluations = (await orNothing(readEvaluations(directory))) ?? [];
  const own = evaluations.filter(({ team }) => team === "team");
  return {
    summary,
    steps: recipe === undefined ? null : (recipe?.warmStart?.steps ?? 0) + (recipe?.train?.steps ?? 0),
    environment: named(recipe?.environment, directory),
    algorithm: named(recipe?.algorithm, directory),
    before: own.find(isBefore)?.success ?? null,
    latest: own.findLast((each) => !isBefore(each))?.success ?? null,
    changed: changeTime(directory),
  };
}

/** What the list reads of a recipe, which nothing has checked. */
type RecipeParts = {
  readonly warmStart?: { readonly steps?: number };
  readonly train?: { readonly steps?: number };
  readonly environment?: unknown;
  readonly algorithm?: unknown;
} | null;

const isBefore = ({ moment }: Evaluation): boolean => moment === "before";

/** Undefined: the file is missing or damaged. */
async function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return undefined;
  }
}

/** A module's path is relative to the run's folder; shown is the one from here. Packages have names. */
function named(part: unknown, directory: string): string {
  const { name, module } = (part ?? {}) as { name?: unknown; module?: unknown };
  if (typeof module === "string" && module.startsWith(".")) return showPath(resolve(directory, module));
  const known = name ?? module;
  return typeof known === "string" ? known : "";
}

function changeTime(directory: string): string {
  const files = ["result.json", "metrics.jsonl", "recipe.yaml"].map((name) => join(directory, name));
  const file = files.find((each) => isPresentSync(each));
  return (file === undefined ? new Date(0) : statSync(file).mtime).toISOString();
}

function listTable(runs: readonly ListedRun[], width = terminalWidth()): string[] {
  const right = { align: "right" as const };
  const columns = [
    { title: "run", cut: { after: 2, least: 16 } },
    { title: "status" },
    { title: "steps", ...right },
    { title: "environment", leftOut: 4, cut: { after: 2, least: 11 } },
    { title: "algorithm", leftOut: 3, cut: { after: 2, least: 9 } },
    { title: "before", ...right },
    { title: "latest", ...right },
    { title: "took", ...right, leftOut: 2 },
    { title: "changed (UTC)", leftOut: 1 },
  ];
  const problems = runs.flatMap(({ summary: { name, problem } }) =>
    problem === undefined ? [] : [`${name}: ${problem}`],
  );
  return [...tableLines(columns, runs.map(cells), width), ...problems];
}

function cells({ summary, steps, environment, algorithm, before, latest, changed: at }: ListedRun): string[] {
  const { name, status, step, result } = summary;
  return [
    name,
    status,
    steps === null ? String(step) : `${step}/${steps}`,
    environment,
    algorithm,
    shareOrNothing(before),
    shareOrNothing(latest),
    result === undefined ? "" : showDuration(result.seconds.total),
    at.slice(0, 16).replace("T", " "),
  ];
}

function shareOrNothing(share: number | null): string {
  return share === null ? "" : showShare(share);
}
