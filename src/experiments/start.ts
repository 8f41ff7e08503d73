/** Prepares a cell: its recipe in its folder, and the arguments of `troupe`. */
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { isPresent } from "../present.ts";
import type { Recipe } from "../recipes/schema.ts";
import { recipeToYaml } from "../recipes/write.ts";
import { makeDirectory, writeFileDurably } from "../runs/durable.ts";
import { layoutOf } from "../runs/layout.ts";
import { readResult } from "../runs/read.ts";
import { isUnbegun } from "../runs/run.ts";
import type { Folders } from "./folders.ts";
import type { Cell, EvaluationCell, TrainingCell } from "./grid.ts";

/** Writes what the cell needs. A training that has started keeps its recipe. */
export async function argumentsOf(cell: Cell, folders: Folders, threads: number): Promise<string[]> {
  return cell.kind === "train" ? trainArguments(cell, folders, threads) : evalArguments(cell, folders);
}

async function trainArguments(cell: TrainingCell, folders: Folders, threads: number): Promise<string[]> {
  const directory = folders.of(cell);
  const { recipe: file } = layoutOf(directory);
  if (!(await isBegun(directory))) {
    await makeDirectory(directory);
    await writeFileDurably(file, recipeToYaml(await startRecipe(cell, folders, threads), directory));
  }
  return ["train", file, "--run", path.basename(directory), "--runs", path.dirname(directory), "--json"];
}

async function isBegun(directory: string): Promise<boolean> {
  return (await isPresent(layoutOf(directory).recipe)) && !(await isUnbegun(directory));
}

/** Policies start from those of the earlier training; the engine gets its share of the cores. */
async function startRecipe(cell: TrainingCell, folders: Folders, threads: number): Promise<Recipe> {
  const { recipe, from } = cell;
  const policies = Object.fromEntries(
    await Promise.all(
      Object.entries(recipe.policies).map(async ([name, policy]) => {
        if (from === null) return [name, policy] as const;
        return [name, { ...policy, model: { path: await startOf(cell, name, from, folders) } }] as const;
      }),
    ),
  );
  const engine = "threads" in recipe.engine ? { ...recipe.engine, threads } : recipe.engine;
  return { ...recipe, policies, engine, ...watchOf(cell) };
}

/** A start inside the experiment is no pretrained model: its cells would stop by themselves, and not be compared. */
function watchOf({ recipe, from }: TrainingCell): Pick<Recipe, "watch"> {
  return from === null || recipe.watch !== undefined ? {} : { watch: "off" };
}

/** The directory of the same roles' policy in the earlier training. */
async function startOf(
  cell: TrainingCell,
  policy: string,
  from: TrainingCell,
  folders: Folders,
): Promise<string> {
  const roles = Object.entries(cell.recipe.team.roles).filter(([, role]) => role.policy === policy);
  const before = new Set(roles.map(([role]) => policyOf(from.recipe, role)));
  const [source] = before;
  if (before.size !== 1 || source === undefined) {
    const names = roles.map(([role]) => role).join(", ");
    const problem = `the policy ${policy} of ${cell.name} starts from that of ${names} in ${from.row}, which has `;
    throw new TroupeError("bad_recipe", `${problem}${before.size > 1 ? "several" : "none"}`);
  }
  const directory = folders.of(from);
  const result = await readResult(directory);
  return path.resolve(directory, result.policies[source]?.directory ?? "");
}

function policyOf(recipe: Recipe, role: string): string | undefined {
  const teams = [recipe.team, ...Object.values(recipe.evaluation.compare)];
  return teams.map(({ roles }) => roles[role]?.policy).find((policy) => policy !== undefined);
}

function evalArguments({ run, team, policies }: EvaluationCell, folders: Folders): string[] {
  const sources = Object.entries(policies).map(
    ([role, { cell, role: theirs }]) => `${role}=${folders.of(cell)}:${theirs}`,
  );
  const recombined = sources.length === 0 ? [] : ["--policies", sources.join(",")];
  return ["eval", folders.of(run), "--team", team, ...recombined, "--json"];
}
