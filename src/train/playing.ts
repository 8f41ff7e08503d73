/** Playing with trained roles and training nothing: the sampler's setting, and whether recorded episodes can be continued. */
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { playingDefaults, type RolloutSetting } from "../rollout/setting.ts";
import { limitsOf, retriesOf } from "./failures.ts";

/** As in the recipe's evaluations: one trajectory at their temperature, without a judge. */
export function playingSetting(
  { recipe, environment }: Pick<ResolvedRecipe, "recipe" | "environment">,
  { team, engine, policies }: Pick<RolloutSetting, "team" | "engine" | "policies">,
): RolloutSetting {
  const { temperature, topP } = recipe.evaluation;
  return {
    ...playingDefaults,
    ...limitsOf(recipe),
    retries: retriesOf(recipe),
    environment,
    team,
    engine,
    policies,
    sampling: { temperature, topP },
  };
}

/**
 * @param recipe with which the episodes were recorded
 * @param failing what is impossible otherwise, such as "tiny cannot be audited"
 * @throws TroupeError `unsupported`
 */
export function checkContinuable(
  { name, drive }: Pick<Environment, "name" | "drive">,
  { judge }: Pick<Recipe, "judge">,
  failing: string,
): void {
  const problem =
    drive !== undefined
      ? `in ${name} a program drives itself, and its episodes have no states to continue from`
      : judge?.["comments"] === true
        ? "roles are shown the judge's comments (`judge.comments`), which nobody writes in a continuation"
        : undefined;
  if (problem !== undefined) throw new TroupeError("unsupported", `${failing}: ${problem}.`);
}
