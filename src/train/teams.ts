/** Which teams play in a recipe, and which policies learn. */
import type { Environment } from "../environments/environment.ts";
import type { Recipe, RecipeTeam } from "../recipes/schema.ts";
import { buildTeam } from "../teams/build.ts";
import type { Team } from "../teams/team.ts";

export interface NamedTeam {
  readonly name: string;
  readonly team: Team;
}

/** The team that is trained, under the name `team`, then those it is compared with. */
export function namedTeams(recipe: Recipe, environment: Environment): readonly NamedTeam[] {
  const policies = Object.keys(recipe.policies);
  const compared = Object.entries(recipe.evaluation.compare);
  return [["team", recipe.team] as const, ...compared].map(([name, team]) => ({
    name,
    team: buildTeam(team, environment, policies),
  }));
}

/** Policies whose weights change. */
export function trainedPolicies(recipe: Recipe): ReadonlySet<string> {
  const learning = Object.values(recipe.team.roles).filter((role) => !role.frozen && recipe.train.steps > 0);
  const taught =
    recipe.warmStart === undefined ? [] : everyRole(recipe).filter((role) => isTaught(recipe, role));
  return new Set([...learning, ...taught].map((role) => role.policy));
}

/**
 * Whether the warm start teaches a role. A frozen role trains nothing by what it does, but where its policy is an
 * untrained preset there is nothing to preserve yet, and without the warm start the role would play at random.
 */
export function isTaught(
  recipe: Recipe,
  role: { readonly policy: string; readonly frozen: boolean },
): boolean {
  return !role.frozen || "preset" in (recipe.policies[role.policy]?.model ?? {});
}

function everyRole(recipe: Recipe): RecipeTeam["roles"][string][] {
  const teams = [recipe.team, ...Object.values(recipe.evaluation.compare)];
  return teams.flatMap((team) => Object.values(team.roles));
}
