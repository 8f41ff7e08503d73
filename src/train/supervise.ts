import { TroupeError } from "../errors.ts";
import type { Recipe } from "../recipes/schema.ts";

/** The recipe without its reinforcement: supervised training on demonstrations, then an evaluation of every team. */
export function supervisedRecipe(recipe: Recipe): Recipe {
  if (recipe.warmStart === undefined) {
    throw new TroupeError(
      "bad_recipe",
      `The recipe ${recipe.name} has no warmStart, so there is nothing to supervise.`,
    );
  }
  return { ...recipe, train: { ...recipe.train, steps: 0 } };
}
