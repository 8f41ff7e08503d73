/** `troupe sft RECIPE`: the warm start alone; writes a model directory for each policy it teaches. */
import { cp, mkdir } from "node:fs/promises";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Command } from "commander";
import { TroupeError } from "../errors.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { RunResult } from "../runs/records.ts";
import { supervisedRecipe } from "../train/supervise.ts";
import { trainedPolicies } from "../train/teams.ts";
import { printLines } from "./print.ts";
import type { OverrideOptions } from "./recipe-arguments.ts";
import { resolveArguments, withRecipeArguments } from "./recipe-arguments.ts";
import { chooseRun } from "./run-name.ts";
import { runsFolder } from "./runs.ts";
import { trainAndReport } from "./train.ts";

interface SftArguments extends OverrideOptions {
  readonly to?: string;
  readonly run?: string;
  readonly runs: string;
  readonly fresh?: boolean;
  readonly json?: boolean;
}

export function sftCommand(): Command {
  return withRecipeArguments(new Command("sft"))
    .description("the warm start alone: supervised training on generated demonstrations")
    .option("--to <directory>", "where the models go (default: models/RUN)")
    .option("--run <name>", "name of the run (default: the recipe's, with -sft)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--fresh", "begin anew, under a name that is not taken")
    .option("--json", "print events as JSON lines")
    .action(async (recipe: string, overrides: string[], options: SftArguments) => {
      const resolved = resolveArguments(recipe, overrides, options);
      await teach({ ...resolved, recipe: supervisedRecipe(resolved.recipe) }, options);
    });
}

async function teach(resolved: ResolvedRecipe, options: SftArguments): Promise<void> {
  const run = options.run ?? `${resolved.recipe.name}-sft`;
  const directory = await chooseRun(resolved.recipe, { ...options, run });
  const outcome = await trainAndReport(resolved, directory, options.json === true);
  if (outcome.status !== "finished") return;
  const target = options.to ?? join("models", basename(directory));
  const written = await copyModels(outcome.result, [...trainedPolicies(resolved.recipe)], directory, target);
  if (!options.json) printLines(["", ...written.map((model) => `model written: ${model}`)]);
}

/** One policy: the folder itself; several: a folder in it for each. */
async function copyModels(
  result: RunResult,
  policies: readonly string[],
  run: string,
  target: string,
): Promise<string[]> {
  const written: string[] = [];
  for (const name of policies) {
    const directory = result.policies[name]?.directory;
    if (directory === undefined) continue;
    const to = policies.length === 1 ? target : join(target, name);
    if (
      existsSync(to) &&
      !existsSync(join(to, "config.json")) &&
      !existsSync(join(to, "adapter_config.json"))
    ) {
      throw new TroupeError(
        "bad_arguments",
        `${to} exists and is no model directory; give another with --to`,
      );
    }
    await mkdir(dirname(to), { recursive: true });
    await cp(join(run, directory), to, { recursive: true });
    written.push(to);
  }
  return written;
}
