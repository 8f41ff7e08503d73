/** The arguments of every command that takes a recipe: its file or name, then overrides. */
import { resolve } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import type { Environment } from "../environments/environment.ts";
import { environments } from "../environments/registry.ts";
import { loneEnvironment } from "../recipes/parts.ts";
import {
  resolveForPlan,
  resolveRecipe,
  resolveWithoutModels,
  type PlannedRecipe,
  type ResolvedRecipe,
} from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";

export interface OverrideOptions {
  readonly override?: readonly string[];
}

export function withRecipeArguments(command: Command): Command {
  return withOverrideOption(
    command
      .argument("<recipe>", "a recipe's file, or the name of an included recipe")
      .argument("[key.path=value...]", "overrides of the recipe; later ones win"),
  );
}

export function withOverrideOption(command: Command): Command {
  return command.option("--override <key.path=value...>", "further overrides, applied last");
}

/** @throws RecipeError listing every mistake. */
export function resolveArguments(
  recipe: string,
  overrides: readonly string[],
  options: OverrideOptions,
): Promise<ResolvedRecipe> {
  return resolveRecipe(findRecipe(recipe), [...overrides, ...(options.override ?? [])]);
}

/** Models and data of the recipe may be elsewhere. @throws RecipeError listing every mistake. */
export function planArguments(
  recipe: string,
  overrides: readonly string[],
  options: OverrideOptions,
): Promise<PlannedRecipe> {
  return resolveForPlan(findRecipe(recipe), [...overrides, ...(options.override ?? [])]);
}

/** What to play or score in; an environment without a recipe has no team. */
export interface ChosenEnvironment {
  readonly environment: Environment;
  readonly recipe?: ResolvedRecipe["recipe"];
}

/**
 * The environment of a recipe, given by file or name; or else an environment by name or module, with its default
 * options. Models of the recipe are not loaded and may be missing.
 * @param overrides without a recipe only `environment.key=value`
 * @throws RecipeError, or TroupeError `bad_arguments` if nothing has that name
 */
export async function recipeOrEnvironment(
  given: string,
  before: readonly string[],
  options: OverrideOptions,
): Promise<ChosenEnvironment> {
  const overrides = [...before, ...(options.override ?? [])];
  if (moduleFile.test(given)) {
    return { environment: await loneEnvironment({ module: resolve(given) }, overrides) };
  }
  if (isRecipe(given) || !environments.some(({ name }) => name === given)) {
    return resolveWithoutModels(findRecipe(given), overrides);
  }
  return { environment: await loneEnvironment({ name: given }, overrides) };
}

export const moduleFile = /\.[cm]?[jt]s$/;

function isRecipe(given: string): boolean {
  try {
    return findRecipe(given) !== "";
  } catch {
    return false;
  }
}

/** Parses whole numbers from `least` to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const bounds = most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : `, at least ${least}`;
    throw new InvalidArgumentError(`Expected a whole number${bounds}.`);
  };
}

/** Parses numbers of at least 0. */
export function notNegative(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError("Expected a number, at least 0.");
}
