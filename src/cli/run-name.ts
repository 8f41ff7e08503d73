/** The folder of a training: a new one, one to resume, or an error if the name is taken. */
import { join } from "node:path";
import { parse } from "yaml";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";
import { incidentalOptions } from "../recipes/catalog.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { shorten } from "../recipes/tree.ts";
import { differences, yamlOfRun, type RecipeDifference } from "../recipes/write.ts";
import { readRecipe } from "../runs/read.ts";
import { isUnbegun } from "../runs/run.ts";
import { comparable } from "../runs/same-training.ts";
import { extend } from "./extension.ts";

export interface RunChoice {
  /** Default: the recipe's name. */
  readonly run?: string;
  /** Folder of the runs. */
  readonly runs: string;
  /** Start a new run under a free name. */
  readonly fresh?: boolean;
  /** Give an existing run the recipe's number of steps. */
  readonly extend?: boolean;
}

export interface ChosenRun {
  readonly directory: string;
  /** To train with: an extended run keeps its warm-up. */
  readonly recipe: Recipe;
  /** What was changed in the run. Absent: nothing. */
  readonly note?: string;
}

/** @throws TroupeError `bad_arguments` if the name belongs to a run of another recipe */
export async function chooseRun(resolved: ResolvedRecipe, choice: RunChoice): Promise<ChosenRun> {
  const { recipe } = resolved;
  const name = choice.run ?? recipe.name;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    throw new TroupeError(
      "bad_arguments",
      `\`${name}\` is not a valid run name; use letters from A to Z, digits, dots, dashes and underscores; the folder of runs may have any name`,
    );
  }
  if (choice.fresh) return { directory: join(choice.runs, freeName(name, choice.runs)), recipe };
  const directory = join(choice.runs, name);
  const isBegun = isPresentSync(join(directory, "recipe.yaml")) && !(await isUnbegun(directory));
  if (!isBegun && choice.extend) throw nothingToExtend(directory);
  if (!isBegun) return { directory, recipe };
  const changed = await changesSince(directory, recipe);
  if (choice.extend) {
    const isChosen = resolved.originOf(["train", "warmupSteps"]).startsWith("override");
    return { directory, ...(await extend(recipe, directory, changed, isChosen)) };
  }
  if (changed.length > 0) throw otherRecipe(directory, name, changed, choice);
  return { directory, recipe };
}

/** In what the run's recipe, first, and this one train differently. */
async function changesSince(directory: string, recipe: Recipe): Promise<readonly RecipeDifference[]> {
  const before = await readRecipe(directory);
  const now: unknown = parse(await yamlOfRun(recipe, directory));
  return differences(...comparable(before, now, incidentalOptions(recipe.judge)));
}

function nothingToExtend(directory: string): TroupeError {
  return new TroupeError(
    "bad_arguments",
    `there is no run ${directory} to extend; without --extend it is started`,
  );
}

/** `name`, or `name-2`, `name-3`, … */
function freeName(name: string, folder: string): string {
  if (!isPresentSync(join(folder, name))) return name;
  let number = 2;
  while (isPresentSync(join(folder, `${name}-${number}`))) number++;
  return `${name}-${number}`;
}

function otherRecipe(
  directory: string,
  name: string,
  changed: readonly RecipeDifference[],
  { runs }: RunChoice,
): TroupeError {
  const others = changed.filter(({ key }) => key !== "train.warmupSteps");
  const isLonger =
    others.length > 0 &&
    others.every(({ key, values: [was, is] }) => key === "train.steps" && Number(is) > Number(was));
  const lines = changed.map(({ key, values: [was, is] }) => `  ${key}: ${show(was)} there, ${show(is)} now`);
  return new TroupeError(
    "bad_arguments",
    `${directory} belongs to another recipe:\n${lines.join("\n")}\n` +
      `Use another name, --run ${freeName(name, runs)}, or --fresh${isLonger ? ", or --extend to train this run further" : ""}.`,
  );
}

function show(value: unknown): string {
  return value === undefined ? "absent" : shorten(JSON.stringify(value), 60);
}
