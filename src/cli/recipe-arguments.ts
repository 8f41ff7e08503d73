/** The arguments of every command that takes a recipe: its file or name, then overrides. */
import type { Command } from "commander";
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
