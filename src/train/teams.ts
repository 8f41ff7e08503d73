/**
 * The teams of a recipe, and which policies each stage trains.
 *
 * A warm start of base models (`warmStart.teach: bases`) has policies of its own: during it, each of these models is a
 * policy; then the recipe's policies start from the result. A shared policy, policies per role and adapters per role
 * thus start from the same weights, and differ only in what reinforcement may change.
 */
import path from "node:path";
import type { Engine, StoredPolicy } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { checkContents, modelDigests } from "../models/model-digests.ts";
import type { Recipe, RecipeTeam } from "../recipes/schema.ts";
import type { SavedBase } from "../runs/checkpoint-state.ts";
import { buildTeam } from "../teams/build.ts";
import type { Role, Team } from "../teams/team.ts";
import { rolesByTeam, type OpenPolicies } from "./policies.ts";

export interface NamedTeam {
  readonly name: string;
  readonly team: Team;
}

/** What decides whether a role's policy learns; roles of recipes and of teams both have it. */
type PolicyUse = Pick<Role, "policy" | "frozen">;

/** The trained team, under the name `team`, then those it is compared with. */
export type NamedTeams = readonly [NamedTeam, ...NamedTeam[]];

export function namedTeams(recipe: Recipe, environment: Environment): NamedTeams {
  const named = (name: string, team: Recipe["team"]): NamedTeam => ({
    name,
    team: buildTeam(team, environment),
  });
  const compared = Object.entries(recipe.evaluation.compare);
  return [named("team", recipe.team), ...compared.map(([name, team]) => named(name, team))];
}

/** Policies whose weights change in a run of the recipe. */
export function trainedPolicies(recipe: Recipe): ReadonlySet<string> {
  return new Set([...learningPolicies(recipe), ...sftPolicies(recipe)]);
}

/** Policies that reinforcement trains: those of the team's roles that are not frozen. */
export function learningPolicies(recipe: Recipe): ReadonlySet<string> {
  const learning = Object.values(recipe.team.roles).filter((role) => !role.frozen && recipe.train.steps > 0);
  return new Set(learning.map((role) => role.policy));
}

/** Policies that the warm start trains. None if it trains base models instead. */
export function sftPolicies(recipe: Recipe): ReadonlySet<string> {
  if (recipe.warmStart === undefined || recipe.warmStart.teach === "bases") return new Set();
  return policiesOfSft(recipe);
}

function policiesOfSft(recipe: Recipe): ReadonlySet<string> {
  return new Set(sftRoles(recipe, rolesByTeam(recipe)).map(({ policy }) => policy));
}

/**
 * The roles that a warm start makes examples for. A compared team's role with a policy of the trained team adds
 * nothing: it would only change that policy's examples.
 *
 * @param teams roles of the trained team, then those of each compared team
 */
export function sftRoles<Some extends PolicyUse>(
  recipe: Pick<Recipe, "policies">,
  teams: readonly (readonly Some[])[],
): readonly Some[] {
  const [own = [], ...compared] = teams;
  const played = new Set(own.map(({ policy }) => policy));
  const others = compared.flat().filter(({ policy }) => !played.has(policy));
  return [...own, ...others].filter((role) => isTrainedBySft(recipe, role));
}

/**
 * Actions of a frozen role train nothing. But if its policy is an untrained preset there is nothing to preserve yet,
 * and without the warm start the role would act at random.
 */
function isTrainedBySft({ policies }: Pick<Recipe, "policies">, role: PolicyUse): boolean {
  return !role.frozen || "preset" in (policies[role.policy]?.model ?? {});
}

type Model = Recipe["policies"][string]["model"];

/**
 * The base of each policy that starts from a trained base. Empty: the warm start trains the policies themselves.
 * Excludes a policy with the user's own model whose roles are all frozen.
 */
export function basesOf(recipe: Recipe): ReadonlyMap<string, string> {
  if (recipe.warmStart?.teach !== "bases") return new Map();
  const trained = policiesOfSft(recipe);
  const taken = new Set(Object.keys(recipe.policies).filter((name) => !trained.has(name)));
  const names = new Map<string, string>();
  const bases = Object.entries(recipe.policies).filter(([name]) => trained.has(name));
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
 * @param saved the bases, from `saveBases`
 * @throws TroupeError `bad_run` if one is missing
 */
export function sftModels(
  recipe: Recipe,
  folder: string,
  saved: Readonly<Record<string, SavedBase>>,
): ReadonlyMap<string, StoredPolicy> {
  const models = [...basesOf(recipe)].map(([policy, base]) => {
    const found = saved[base];
    if (found !== undefined) return [policy, storedBase(found, folder)] as const;
    const problem = `the checkpoint does not contain the location of ${base} after the warm start`;
    throw new TroupeError("bad_run", `${problem}; start a new run`);
  });
  return new Map(models);
}

export function storedBase({ kind, location, version, directory }: SavedBase, folder: string): StoredPolicy {
  return { saved: { kind, location, version, directory }, folder };
}

/**
 * Policies were trained on the base as the warm start left it: on another one, they would be others.
 * @param models the run's folder of models
 * @throws TroupeError `bad_run` if its files were replaced
 */
export async function checkBase({ directory, files }: SavedBase, models: string): Promise<void> {
  if (directory === null || files === undefined) return;
  const fix = "put its files back, or start a new run";
  await checkContents(path.join(models, directory), files, "that the warm start of the bases made", fix);
}

/** What a base is saved as. */
export function sftName(base: string): string {
  return `${base}-taught`;
}

/** Saves the trained bases in the run's folder of models and removes the warm start's policies from the engine. */
export async function saveBases(
  engine: Engine,
  recipe: Recipe,
  opened: OpenPolicies,
  models: string,
): Promise<Record<string, SavedBase>> {
  const bases = new Set(basesOf(recipe).values());
  const saved: Record<string, SavedBase> = {};
  for (const name of Object.keys(opened)) {
    if (bases.has(name)) {
      const found = await engine.snapshot(name, { folder: models, name: sftName(name) });
      const { directory } = found;
      const files = directory === null ? undefined : await modelDigests(path.join(models, directory));
      saved[name] = { ...found, ...(files === undefined ? {} : { files }) };
    }
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
