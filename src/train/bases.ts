/**
 * A warm start of base models (`warmStart.teach: bases`). During it, each of these models is a policy of its own; then
 * the recipe's policies start from the result. A shared policy, policies per role and adapters per role thus start from
 * the same weights, and differ only in what reinforcement may change.
 */
import path from "node:path";
import type { Engine, SavedPolicy, StoredPolicy } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Recipe, RecipeTeam } from "../recipes/schema.ts";
import type { OpenPolicies } from "./policies.ts";
import { taughtRoles } from "./teams.ts";

type Model = Recipe["policies"][string]["model"];

/**
 * The base of each policy that starts from a trained base. Empty: the warm start trains the policies themselves.
 * Excludes a policy with the user's own model whose roles are all frozen.
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

/** The recipe of the warm start: bases instead of the policies that will start from them. */
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

/**
 * The sources of policies that start from a trained base.
 * @param saved the bases, from `settleBases`
 * @throws TroupeError `bad_run` if one is missing
 */
export function taughtModels(
  recipe: Recipe,
  models: string,
  saved: Readonly<Record<string, SavedPolicy>>,
): ReadonlyMap<string, StoredPolicy> {
  const taught = [...basesOf(recipe)].map(([policy, base]) => {
    const found = saved[base];
    if (found !== undefined) return [policy, { saved: found, folder: models }] as const;
    const problem = `the checkpoint does not contain the location of ${base} after the warm start`;
    throw new TroupeError("bad_run", `${problem}; start a new run`);
  });
  return new Map(taught);
}

/** What a base is saved as. */
export function taughtName(base: string): string {
  return `${base}-taught`;
}

/** Saves the trained bases in the run's folder of models and removes the warm start's policies from the engine. */
export async function settleBases(
  engine: Engine,
  recipe: Recipe,
  opened: OpenPolicies,
  models: string,
): Promise<Record<string, SavedPolicy>> {
  const bases = new Set(basesOf(recipe).values());
  const saved: Record<string, SavedPolicy> = {};
  for (const name of Object.keys(opened)) {
    if (bases.has(name))
      saved[name] = await engine.snapshot(name, { folder: models, name: taughtName(name) });
    await engine.removePolicy(name);
  }
  return saved;
}

/** The model's preset or its folder's name, with a number if that is taken. */
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
