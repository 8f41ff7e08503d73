/** The folder of a training: a new one, one to resume, or an error if the name is taken. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { TroupeError } from "../errors.ts";
import type { RecipeDifference } from "../recipes/differences.ts";
import { differences } from "../recipes/differences.ts";
import { incidentalOptions } from "../recipes/judge-row.ts";
import { shorten } from "../recipes/origin.ts";
import type { Recipe } from "../recipes/schema.ts";
import { recipeToYaml } from "../recipes/write.ts";
import { readRecipe } from "../runs/read.ts";
import { isUnbegun } from "../runs/run.ts";
import { comparable } from "../runs/same-training.ts";

export interface RunChoice {
  /** Default: the recipe's name. */
  readonly run?: string;
  /** Folder of the runs. */
  readonly runs: string;
  /** Start a new run under a free name. */
  readonly fresh?: boolean;
}

/** @throws TroupeError `bad_arguments` if the name belongs to a run of another recipe */
export async function chooseRun(recipe: Recipe, choice: RunChoice): Promise<string> {
  const name = choice.run ?? recipe.name;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    throw new TroupeError(
      "bad_arguments",
      `\`${name}\` is not a valid run name; use letters, digits, dots and dashes`,
    );
  }
  if (choice.fresh) return join(choice.runs, freeName(name, choice.runs));
  const directory = join(choice.runs, name);
  if (!existsSync(join(directory, "recipe.yaml"))) return directory;
  if (await isUnbegun(directory)) return directory;
  const before = await readRecipe(directory);
  const now: unknown = parse(recipeToYaml(recipe, directory));
  const changed = differences(...comparable(before, now, incidentalOptions(recipe.judge)));
  if (changed.length > 0) throw otherRecipe(directory, name, changed, choice);
  return directory;
}

/** `name`, or `name-2`, `name-3`, … */
export function freeName(name: string, folder: string): string {
  if (!existsSync(join(folder, name))) return name;
  let number = 2;
  while (existsSync(join(folder, `${name}-${number}`))) number++;
  return `${name}-${number}`;
}

function otherRecipe(
  directory: string,
  name: string,
  changed: readonly RecipeDifference[],
  { runs }: RunChoice,
): TroupeError {
  const lines = changed.map(({ key, values: [was, is] }) => `  ${key}: ${show(was)} there, ${show(is)} now`);
  return new TroupeError(
    "bad_arguments",
    `${directory} belongs to another recipe:\n${lines.join("\n")}\n` +
      `Use another name, --run ${freeName(name, runs)}, or --fresh.`,
  );
}

function show(value: unknown): string {
  return value === undefined ? "absent" : shorten(JSON.stringify(value), 60);
}
