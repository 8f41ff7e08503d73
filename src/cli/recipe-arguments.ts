/** The arguments of every command that takes a recipe: its file or name, then overrides. */
import type { Command } from "commander";
import type { Environment } from "../environments/environment.ts";
import { environments } from "../environments/registry.ts";
import { TroupeError } from "../errors.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";

export interface OverrideOptions {
  readonly override?: readonly string[];
}

export function withRecipeArguments(command: Command): Command {
  return command
    .argument("<recipe>", "a recipe's file, or the name of one that comes with Troupe")
    .argument("[key.path=value...]", "changes to the recipe, later ones over earlier ones")
    .option("--override <key.path=value...>", "more changes, over those without the flag");
}

/** @throws RecipeError with every mistake. */
export function resolveArguments(
  recipe: string,
  overrides: readonly string[],
  options: OverrideOptions,
): Promise<ResolvedRecipe> {
  return resolveRecipe(findRecipe(recipe), [...overrides, ...(options.override ?? [])]);
}

/** What is to be played or scored in; without a recipe nobody has said which team plays. */
export interface ChosenEnvironment {
  readonly environment: Environment;
  readonly recipe?: ResolvedRecipe["recipe"];
}

/**
 * The environment of a recipe, given by file or name, or else an environment of that name with its default options.
 * @throws RecipeError, TroupeError `bad_arguments` where there is neither
 */
export async function recipeOrEnvironment(
  given: string,
  overrides: readonly string[],
): Promise<ChosenEnvironment> {
  const definition = environments.find(({ name }) => name === given);
  try {
    return await resolveRecipe(findRecipe(given), overrides);
  } catch (error) {
    const isUnknown = error instanceof TroupeError && error.code === "bad_arguments";
    if (!isUnknown || definition === undefined || overrides.length > 0) throw error;
  }
  return { environment: await definition.create(definition.options.parse({})) };
}
