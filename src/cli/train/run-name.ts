/** The folder of a training: a new one, one to resume, or an error if the name is taken. */
import { join } from "node:path";
import { parse } from "yaml";
import { TroupeError } from "../../errors.ts";
import { showNumber } from "../../format.ts";
import { isPresentSync } from "../../present.ts";
import { incidentalOptions } from "../../recipes/catalog.ts";
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import type { Recipe } from "../../recipes/schema.ts";
import { shorten } from "../../recipes/tree.ts";
import { differences, yamlOfRun, type RecipeDifference } from "../../recipes/write.ts";
import { extendRun } from "../../runs/extend.ts";
import { readRecipe, summarizeRun } from "../../runs/read.ts";
import { isUnbegun } from "../../runs/run.ts";
import { comparable } from "../../runs/same-training.ts";
import { learningRateAt } from "../../train/update.ts";

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

export interface Extension {
  /** The recipe to train with: what the run cannot change is as the run has it. */
  readonly recipe: Recipe;
  /** What to tell about the schedule. Absent: the run has these steps already. */
  readonly note?: string;
}

/**
 * Gives the run the recipe's steps if nothing else differs.
 *
 * @param changed in which keys the run's recipe (first) and the present one differ
 * @param isChosen whether the command line gives the warm-up; otherwise the run keeps its own
 * @throws TroupeError `bad_arguments` if the run cannot be extended to this recipe
 */
async function extend(
  recipe: Recipe,
  directory: string,
  changed: readonly RecipeDifference[],
  isChosen: boolean,
): Promise<Extension> {
  const warmUp = isChosen ? undefined : changed.find(({ key }) => key === warmUpKey)?.values[0];
  if (typeof warmUp !== "number") return extendSame(recipe, directory, changed, "");
  const own = { ...recipe, train: { ...recipe.train, warmupSteps: warmUp } };
  const others = changed.filter(({ key }) => key !== warmUpKey);
  return extendSame(own, directory, others, warmUpNote(warmUp, recipe.train.warmupSteps));
}

const warmUpKey = "train.warmupSteps";

/** Few steps may have shortened the run's. */
function warmUpNote(kept: number, given: number): string {
  return `the warm-up is that of the run, ${kept} ${kept === 1 ? "step" : "steps"}, not the recipe's ${given}; `;
}

async function extendSame(
  recipe: Recipe,
  directory: string,
  changed: readonly RecipeDifference[],
  kept: string,
): Promise<Extension> {
  const [difference] = changed;
  if (difference === undefined) return rejectFinished(directory, recipe);
  const [before, after] = changed.find(({ key }) => key === "train.steps")?.values ?? [];
  const isShorter = typeof before === "number" && typeof after === "number" && after < before;
  if (!isShorter && (changed.length > 1 || difference.key !== "train.steps"))
    throw otherChanges(directory, changed);
  if (typeof before !== "number" || typeof after !== "number" || after <= before || before === 0)
    throw notLonger(directory, before, after);
  const done = await reinforcementDone(directory, recipe);
  const note = `extended from ${before} to ${after} steps of reinforcement; ${kept}${scheduleNote(recipe.train, before, done)}`;
  await extendRun(directory, await yamlOfRun(recipe, directory), note);
  return { recipe, note };
}

/** An interrupted extension is resumed by the same command. */
async function rejectFinished(directory: string, recipe: Recipe): Promise<Extension> {
  const { train } = recipe;
  const { status } = await summarizeRun(directory);
  if (status !== "finished") return { recipe };
  const problem = `${directory} has its ${train.steps} steps of reinforcement already`;
  throw new TroupeError(
    "bad_arguments",
    `${problem}; say how many it should have, as with train.steps=${2 * train.steps}`,
  );
}

function otherChanges(directory: string, changed: readonly RecipeDifference[]): TroupeError {
  const keys = changed.map(({ key }) => key).filter((key) => key !== "train.steps");
  const problem = `${directory} differs from this recipe in ${keys.join(", ")}; --extend changes only train.steps`;
  return new TroupeError(
    "bad_arguments",
    `${problem}. Omit the other changes, or start a new run with --fresh.`,
  );
}

function notLonger(directory: string, before: unknown, after: unknown): TroupeError {
  const problem = `${directory} has train.steps=${String(before)} and cannot be extended to ${String(after)}`;
  const fix = before === 0 ? "reinforcement cannot be added to a run that had none" : "use more steps";
  return new TroupeError("bad_arguments", `${problem}: ${fix}`);
}

async function reinforcementDone(directory: string, { warmStart }: Recipe): Promise<number> {
  const { step } = await summarizeRun(directory);
  return Math.max(0, step - (warmStart?.steps ?? 0));
}

/**
 * What happens to the learning rate after the steps that were done.
 *
 * @param before how many steps the run was started with
 */
export function scheduleNote(train: Recipe["train"], before: number, done: number): string {
  const { schedule, steps } = train;
  const differs = `so the result differs from that of a run started with ${steps} steps`;
  if (done === 0) return "none of them was done, so the run is one of that length";
  if (schedule !== "constant") {
    const last = showNumber(learningRateAt({ ...train, steps: before }, done));
    const next = showNumber(learningRateAt(train, done + 1));
    return (
      `the ${schedule} schedule now spans ${steps} steps: the learning rate is ${next} in step ${done + 1} after ${last} ` +
      `in step ${done}, ${differs}`
    );
  }
  if (train.maxLag === 1 && done === before)
    return `the learning rate stays constant; step ${done + 1} is sampled after step ${done} instead of during it, ${differs}`;
  return "the learning rate stays constant, as in a run of that length";
}
