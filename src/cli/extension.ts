/** `troupe train … train.steps=70 --extend`: a run goes on beyond the steps it was started with. */
import { TroupeError } from "../errors.ts";
import { showNumber } from "../format.ts";
import type { RecipeDifference } from "../recipes/differences.ts";
import type { Recipe } from "../recipes/schema.ts";
import { recipeToYaml } from "../recipes/write.ts";
import { extendRun } from "../runs/extend.ts";
import { summarizeRun } from "../runs/read.ts";
import { learningRateAt } from "../train/schedule.ts";

/**
 * Gives the run the recipe's steps if nothing else differs. Returns what to tell about the schedule; null: the run has
 * these steps already.
 *
 * @param changed in which keys the run's recipe (first) and the present one differ
 * @throws TroupeError `bad_arguments` if the run cannot be extended to this recipe
 */
export async function extend(
  recipe: Recipe,
  directory: string,
  changed: readonly RecipeDifference[],
): Promise<string | null> {
  const [difference] = changed;
  if (difference === undefined) return rejectFinished(directory, recipe);
  const [before, after] = changed.find(({ key }) => key === "train.steps")?.values ?? [];
  const isShorter = typeof before === "number" && typeof after === "number" && after < before;
  if (!isShorter && (changed.length > 1 || difference.key !== "train.steps"))
    throw otherChanges(directory, changed);
  if (typeof before !== "number" || typeof after !== "number" || after <= before || before === 0)
    throw notLonger(directory, before, after);
  const done = await reinforcementDone(directory, recipe);
  const note = `extended from ${before} to ${after} steps of reinforcement; ${scheduleNote(recipe.train, before, done)}`;
  await extendRun(directory, recipeToYaml(recipe, directory), note);
  return note;
}

/** An interrupted extension is resumed by the same command. */
async function rejectFinished(directory: string, { train }: Recipe): Promise<null> {
  const { status } = await summarizeRun(directory);
  if (status !== "finished") return null;
  const problem = `${directory} has its ${train.steps} steps of reinforcement already`;
  throw new TroupeError(
    "bad_arguments",
    `${problem}; say how many it should have, as with train.steps=${2 * train.steps}`,
  );
}

function otherChanges(directory: string, changed: readonly RecipeDifference[]): TroupeError {
  const others = changed.filter(({ key }) => key !== "train.steps");
  const keys = others.map(({ key }) => key);
  const problem = `${directory} differs from this recipe in ${keys.join(", ")}; --extend changes only train.steps`;
  // Its steps shortened it, so nobody may have chosen it.
  const warmUp = others.find(({ key }) => key === "train.warmupSteps")?.values[0];
  const own =
    warmUp === undefined ? "" : `Add train.warmupSteps=${JSON.stringify(warmUp)}, which the run has. `;
  const rest = keys.length > (warmUp === undefined ? 0 : 1) ? "Omit the other changes, or start" : "Or start";
  return new TroupeError("bad_arguments", `${problem}. ${own}${rest} a new run with --fresh.`);
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
