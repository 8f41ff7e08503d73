/** The recipe of one training in the grid: the column's, with the changes of column and row, the team and policies. */
import { dirname, resolve } from "node:path";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { builtInCatalog } from "../recipes/catalog.ts";
import { moduleAt, moduleKeys } from "../recipes/choice.ts";
import { mergeLayers } from "../recipes/layers.ts";
import { loadTree } from "../recipes/load.ts";
import { hintAmong } from "../recipes/mistakes.ts";
import { resolveTree, type ResolvedRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { findRecipe } from "../recipes/shipped.ts";
import {
  originAt,
  plainOf,
  showKey,
  treeAt,
  type MappingTree,
  type Path,
  type Tree,
} from "../recipes/tree.ts";
import { validate } from "../recipes/validation/validate.ts";
import type { TrainingInput } from "./definition.ts";
import { pathOfTraining, rejected, trainingsOf, type Experiment } from "./load.ts";

export interface CellRecipe extends Pick<ResolvedRecipe, "recipe" | "environment" | "algorithm"> {
  /** All layers merged, as written. */
  readonly plain: Readonly<Record<string, unknown>>;
}

/** @throws TroupeError `bad_recipe` with the place in the experiment's or the recipe's file */
export async function cellRecipe(experiment: Experiment, name: string, column: string): Promise<CellRecipe> {
  const path = pathOfTraining(experiment.definition, name);
  const training = trainingsOf(experiment.definition)[name] ?? {};
  const tree = mergedTree(experiment, path, column);
  const resolved = await inCell(`${name} on ${column}`, () => resolveTree(tree));
  const recipe = played(resolved.recipe, training, (key, problem, fix) => {
    const at = [...path, key];
    return rejected([{ origin: originAt(experiment.tree, at), key: showKey(at), problem, fix }]);
  });
  const changed = { ...resolved, recipe };
  const [first] = validate(changed, builtInCatalog);
  if (first !== undefined) {
    const problem = `on ${column}, ${showKey(first.path)}: ${first.problem}`;
    const { fix } = first;
    const where = { origin: originAt(experiment.tree, path), key: showKey(path) };
    throw rejected([{ ...where, problem, ...(fix === undefined ? {} : { fix }) }]);
  }
  return { ...changed, plain: withHashes(plainOf(tree) as Record<string, unknown>, recipe) };
}

/** A module is identified by its contents, not its place. */
function withHashes(
  plain: Readonly<Record<string, unknown>>,
  recipe: Recipe,
): Readonly<Record<string, unknown>> {
  const hashed = moduleKeys.flatMap((key) => {
    const { moduleHash } = moduleAt(recipe, key);
    return moduleHash === undefined
      ? []
      : [[key, { ...(plain[key] as object), module: moduleHash }] as const];
  });
  return { ...plain, ...Object.fromEntries(hashed) };
}

/** A recipe's mistakes name the recipe's file; this adds the cell. */
async function inCell<Value>(cell: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== "bad_recipe") throw error;
    throw new TroupeError("bad_recipe", `${cell}: ${error.message}`, { cause: error });
  }
}

function mergedTree(experiment: Experiment, training: Path, column: string): MappingTree {
  const layers = [
    ["columns", column, "changes"],
    [...training, "changes"],
    [...training, "changesIn", column],
  ];
  const changes = layers
    .map((path) => treeAt(experiment.tree, path))
    .filter((tree) => tree?.kind === "mapping");
  return changes.reduce<Tree>(mergeLayers, recipeTree(experiment, column)) as MappingTree;
}

function recipeTree({ file, definition, tree }: Experiment, column: string): MappingTree {
  const given = definition.columns[column]?.recipe ?? "";
  const beside = resolve(dirname(file), given);
  try {
    return loadTree(isPresentSync(beside) ? beside : findRecipe(given));
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== "bad_arguments") throw error;
    const path = ["columns", column, "recipe"];
    throw rejected([{ origin: originAt(tree, path), key: showKey(path), problem: error.message }]);
  }
}

type Reject = (key: string, problem: string, fix: string) => TroupeError;

function played(recipe: Recipe, { from, team, policies }: TrainingInput, reject: Reject): Recipe {
  let result = recipe;
  if (team !== undefined && team !== "team") result = withTeam(result, team, reject);
  if (policies !== undefined) result = withPolicies(result, policies);
  // Compared teams are only evaluated in the training that no row precedes.
  if (from !== undefined || result !== recipe) {
    const { warmStart, ...rest } = result;
    const start = from === undefined && warmStart !== undefined ? { warmStart } : {};
    result = usedPolicies({ ...rest, ...start, evaluation: { ...result.evaluation, compare: {} } });
  }
  return result;
}

function withTeam(recipe: Recipe, name: string, reject: Reject): Recipe {
  const { compare } = recipe.evaluation;
  const team = Object.hasOwn(compare, name) ? compare[name] : undefined;
  if (team !== undefined) return { ...recipe, team };
  const known = ["team", ...Object.keys(compare)];
  const fix = hintAmong(name, known, `teams of the recipe ${recipe.name}`);
  throw reject("team", `there is no team \`${name}\``, fix);
}

/** Each policy gets the settings of the role's previous policy. */
function withPolicies(recipe: Recipe, sharing: "shared" | "per-role"): Recipe {
  const roles = Object.entries(recipe.team.roles);
  const first = roles[0]?.[1].policy ?? "";
  const own = (role: string) => (sharing === "shared" ? first : role);
  const policies = roles.map(([role, { policy }]) => [
    own(role),
    recipe.policies[sharing === "shared" ? first : policy],
  ]);
  return {
    ...recipe,
    team: {
      ...recipe.team,
      roles: Object.fromEntries(roles.map(([role, each]) => [role, { ...each, policy: own(role) }])),
    },
    policies: Object.fromEntries(policies) as Recipe["policies"],
  };
}

function usedPolicies(recipe: Recipe): Recipe {
  const used = new Set(Object.values(recipe.team.roles).map(({ policy }) => policy));
  const policies = Object.entries(recipe.policies).filter(([name]) => used.has(name));
  return { ...recipe, policies: Object.fromEntries(policies) };
}
