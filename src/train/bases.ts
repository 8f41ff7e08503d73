/**
 * A warm start that teaches the models below the policies (`warmStart.teach: bases`). While it lasts, each of these models
 * is a policy of its own; then the recipe's policies begin from what it became. A shared policy, policies per role and
 * adapters per role so begin from the very same weights, and differ only in what reinforcement may change.
 */
import path from "node:path";
import type { Engine } from "../engines/engine.ts";
import type { Recipe, RecipeTeam } from "../recipes/schema.ts";
import type { OpenPolicies } from "./policies.ts";
import { savePolicy } from "./policies.ts";
import { taughtRoles } from "./teams.ts";

type Model = Recipe["policies"][string]["model"];

/**
 * The base of each policy that begins from a taught model. Empty: the warm start teaches the policies themselves. A
 * policy that only frozen roles of the user's own model play with is left as it is.
 */
export function basesOf(recipe: Recipe): ReadonlyMap<string, string> {
  if (recipe.warmStart?.teach !== "bases") return new Map();
  const teams = [recipe.team, ...Object.values(recipe.evaluation.compare)];
  const roles = teams.map((team) => Object.values(team.roles));
  const taught = new Set(taughtRoles(recipe, roles).map(({ policy }) => policy));
  const taken = new Set(Object.keys(recipe.policies).filter((name) => !taught.has(name)));
  const names = new Map<string, string>();
  const bases = Object.entries(recipe.policies).filter(([name]) => taught.has(name));
  return new Map(bases.map(([name, { model }]) => [name, baseName(model, names, taken)]));
}

/** The recipe of the warm start: the bases in the places of the policies that will begin from them. */
export function warmStartRecipe(recipe: Recipe): Recipe {
  const bases = basesOf(recipe);
  if (bases.size === 0 || recipe.warmStart === undefined) return recipe;
  const inPlace = (team: RecipeTeam) => withPolicies(team, (policy) => bases.get(policy) ?? policy);
  const policies = Object.entries(recipe.policies).map(([name, policy]) => {
    const base = bases.get(name);
    return base === undefined ? [name, policy] : [base, { model: policy.model }];
  });
  return {
    ...recipe,
    policies: Object.fromEntries(policies) as Recipe["policies"],
    team: inPlace(recipe.team),
    evaluation: {
      ...recipe.evaluation,
      compare: Object.fromEntries(
        Object.entries(recipe.evaluation.compare).map(([name, team]) => [name, inPlace(team)]),
      ),
    },
    warmStart: { ...recipe.warmStart, teach: "policies" },
  };
}

/** The recipe after the warm start: the policies' models are the taught ones. */
export function taughtRecipe(recipe: Recipe, models: string): Recipe {
  const bases = basesOf(recipe);
  const policies = Object.entries(recipe.policies).map(([name, policy]) => {
    const base = bases.get(name);
    return [name, base === undefined ? policy : { ...policy, model: { path: taughtModel(models, base) } }];
  });
  return { ...recipe, policies: Object.fromEntries(policies) as Recipe["policies"] };
}

/** Where a run keeps a base once it is taught. */
export function taughtModel(models: string, base: string): string {
  return path.join(models, `${base}-taught`);
}

/** Writes the taught bases to their places and takes the warm start's policies out of the engine. */
export async function settleBases(
  engine: Engine,
  recipe: Recipe,
  opened: OpenPolicies,
  models: string,
): Promise<void> {
  const bases = new Set(basesOf(recipe).values());
  for (const [name, policy] of Object.entries(opened)) {
    if (bases.has(name)) await savePolicy(engine, name, taughtModel(models, name), policy.source);
    await engine.removePolicy(name);
  }
}

/** A model's preset or its folder's name, with a number where that is taken. */
function baseName(model: Model, names: Map<string, string>, taken: Set<string>): string {
  const key = JSON.stringify(model);
  const known = names.get(key);
  if (known !== undefined) return known;
  const short = "preset" in model ? model.preset : path.basename(path.resolve(model.path));
  let name = short;
  for (let number = 2; taken.has(name); number++) name = `${short}-${number}`;
  names.set(key, name);
  taken.add(name);
  return name;
}

function withPolicies(team: RecipeTeam, rename: (policy: string) => string): RecipeTeam {
  const roles = Object.entries(team.roles).map(([name, role]) => [
    name,
    { ...role, policy: rename(role.policy) },
  ]);
  return { ...team, roles: Object.fromEntries(roles) as RecipeTeam["roles"] };
}
