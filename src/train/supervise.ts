/** The warm start alone: supervised training on demonstrations, then one evaluation. */
import { TroupeError } from "../errors.ts";
import type { Recipe } from "../recipes/schema.ts";
import { train } from "./train.ts";
import type { TrainOptions, TrainOutcome } from "./train.ts";

/** The recipe that `superviseOnly` runs and records. */
export function supervisedRecipe(recipe: Recipe): Recipe {
  if (recipe.warmStart === undefined) {
    throw new TroupeError(
      "bad_recipe",
      `The recipe ${recipe.name} has no warmStart, so there is nothing to supervise.`,
    );
  }
  return { ...recipe, train: { ...recipe.train, steps: 0 } };
}

/** As `train`, without its reinforcement; every team of the recipe is evaluated at the end. */
export function superviseOnly(options: TrainOptions): Promise<TrainOutcome> {
  return train({ ...options, recipe: supervisedRecipe(options.recipe) });
}
