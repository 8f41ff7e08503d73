/** `troupe sft RECIPE`: the warm start alone; writes a model directory for each trained policy. */
import { cp, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { ifPresent, isPresentSync } from "../../present.ts";
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import { supervisedRecipe } from "../../recipes/supervised.ts";
import { makeDirectory } from "../../runs/durable.ts";
import { layoutOf } from "../../runs/layout.ts";
import type { RunResult } from "../../runs/records.ts";
import { basesOf, trainedPolicies } from "../../train/teams.ts";
import { resolveArguments, withRecipeArguments, type OverrideOptions } from "../arguments.ts";
import { printLines } from "../print.ts";
import { chooseRun } from "./run-name.ts";
import { trainAndReport } from "./train.ts";

interface SftArguments extends OverrideOptions {
  readonly to?: string;
  readonly run?: string;
  readonly runs: string;
  readonly fresh?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export function sftCommand(): Command {
  return withRecipeArguments(new Command("sft"))
    .description("run the warm start alone: supervised training on demonstrations")
    .option("--to <directory>", "output directory (default: models/RUN)")
    .option("--run <name>", "name of the run (default: the recipe's, with -sft)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--fresh", "start a new run under a free name")
    .option("--quiet", "at most one line about steps every ten seconds, and no sample episodes")
    .option("--json", "print events as JSON lines")
    .action(async (recipe: string, overrides: string[], options: SftArguments) => {
      const resolved = await resolveArguments(recipe, overrides, options);
      await teach({ ...resolved, recipe: supervisedRecipe(resolved.recipe) }, options);
    });
}

async function teach(resolved: ResolvedRecipe, options: SftArguments): Promise<void> {
  const run = options.run ?? `${resolved.recipe.name}-sft`;
  const { directory } = await chooseRun(resolved, { ...options, run });
  const target = options.to ?? join("models", basename(directory));
  checkTarget(target, directory);
  const outcome = await trainAndReport(resolved, directory, options);
  if (outcome.status !== "finished") return;
  const trained = [...trainedPolicies(resolved.recipe), ...basesOf(resolved.recipe).keys()];
  const written = await copyModels(outcome.result, trained, directory, target);
  if (!options.json) printLines(["", ...written.map((model) => `model written: ${model}`)]);
}

/** Only a finished run can have written the models itself; otherwise an existing target is an error before training. */
function checkTarget(target: string, run: string): void {
  if (isPresentSync(target) && !isPresentSync(layoutOf(run).result)) throw targetTaken(target);
}

function targetTaken(target: string): TroupeError {
  return new TroupeError("bad_arguments", `${target} already exists; choose a new directory with --to`);
}

/** One model: the folder itself; several: a subfolder for each. */
async function copyModels(
  result: RunResult,
  policies: readonly string[],
  run: string,
  target: string,
): Promise<string[]> {
  const models = new Map<string, string>();
  for (const name of policies) {
    const directory = result.policies[name]?.directory;
    if (directory !== undefined && !models.has(directory)) models.set(directory, name);
  }
  const written: string[] = [];
  for (const [directory, name] of models) {
    const to = models.size === 1 ? target : join(target, name);
    await copyModel(join(run, directory), to);
    written.push(to);
  }
  return written;
}

/** Never overwrites: an existing directory must hold the same files. */
async function copyModel(from: string, to: string): Promise<void> {
  if (!isPresentSync(to)) {
    await makeDirectory(dirname(to));
    return cp(from, to, { recursive: true });
  }
  for (const name of await readdir(from)) {
    const there = await ifPresent(join(to, name), (file) => readFile(file));
    if (there === null || !there.equals(await readFile(join(from, name)))) throw targetTaken(to);
  }
}
