/**
 * One line about a run, from the end of its metrics and from what is kept of smaller files until they are written: it
 * takes the same time for a run of any length.
 */
import { createHash } from "node:crypto";
import { TroupeError } from "../errors.ts";
import { jsonOrNull } from "../json.ts";
import { isPresent } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import { isLocked } from "../runs/lock.ts";
import { readEvaluations, readWatch } from "../runs/read.ts";
import type { WatchRecord } from "../runs/records.ts";
import { incidentalKeys } from "../runs/same-training.ts";
import { describeSign } from "../train/watch.ts";
import type { Interval, RunLine, Watched } from "./api.ts";
import { lastLine } from "./followed.ts";
import { KeptFile } from "./kept-file.ts";
import { recipeFile, type ReadRecipe, type RecipeParts } from "./recipe.ts";

/** What a line is made of that is read again only when it was written. */
export interface LineFiles {
  readonly recipe: KeptFile<ReadRecipe>;
  /** Of the team's last evaluation. Null: there is none. */
  readonly success: KeptFile<Interval | null>;
  /** The last that `watch` did to the run. Null: nothing. */
  readonly watch: KeptFile<Watched | null>;
}

export function lineFiles(directory: string): LineFiles {
  const { evaluations, watch } = layoutOf(directory);
  return {
    recipe: recipeFile(directory),
    success: new KeptFile(evaluations, async () => {
      const found = (await readEvaluations(directory)).findLast(({ team }) => team === "team");
      return found === undefined ? null : { mean: found.success, low: found.low, high: found.high };
    }),
    watch: new KeptFile(watch, async () => lastAct(await readWatch(directory))),
  };
}

/** A warning changes nothing. */
function lastAct(records: readonly WatchRecord[]): Watched | null {
  const found = records.findLast(({ action }) => action !== "warn");
  if (found === undefined) return null;
  const { step, returned } = found;
  const action = returned === undefined ? "stop" : "return";
  const done = returned === undefined ? "Stopped by watch" : `Returned to step ${returned.to}`;
  return { action, step, text: `${done} after step ${step}: ${describeSign(found)}.` };
}

/** Whatever cannot be read is reported in the line, never thrown: it would hide all other runs. */
export async function runLine(
  run: string,
  directory: string,
  { recipe, success, watch }: LineFiles,
): Promise<RunLine> {
  const blank = {
    run,
    folder: directory,
    recipe: "",
    environment: "",
    algorithm: "",
    training: run,
    seed: null,
  };
  let known: Omit<RunLine, "state"> = { ...blank, step: 0, steps: null, success: null };
  try {
    known = { ...known, ...described(await recipe.value()) };
    known = { ...known, step: await lastStep(directory) };
    known = { ...known, success: await success.value() };
    const act = await watch.value();
    known = act === null ? known : { ...known, watch: act };
    return { ...known, state: await stateOf(directory) };
  } catch (error) {
    return { ...known, state: "damaged", problem: (error as Error).message };
  }
}

function described({ value, parts }: ReadRecipe) {
  const { name, seed, environment, algorithm, warmStart, train } = parts;
  return {
    recipe: name ?? "",
    environment: named(environment),
    algorithm: named(algorithm),
    training: trainingOf(value),
    seed: seed ?? null,
    steps: train?.steps === undefined ? null : (warmStart?.steps ?? 0) + train.steps,
  };
}

/** What a run is called, and what it may change when it is resumed, does not count. */
function trainingOf(recipe: object): string {
  const kept = Object.entries(recipe).filter(
    ([key]) => !["seed", "name"].includes(key) && !incidentalKeys.has(key),
  );
  return createHash("sha256").update(JSON.stringify(kept)).digest("hex").slice(0, 16);
}

function named(part: RecipeParts["environment"]): string {
  return part?.name ?? part?.module ?? "";
}

/** @throws TroupeError `bad_run` if the line is not a record */
async function lastStep(directory: string): Promise<number> {
  const file = layoutOf(directory).metrics;
  const line = await lastLine(file);
  if (line === null) return 0;
  const step = (jsonOrNull(line) as { step?: unknown } | null)?.step;
  if (typeof step === "number") return step;
  throw new TroupeError("bad_run", `The last line of ${file} is not a step. Restore the line.`);
}

async function stateOf(directory: string): Promise<RunLine["state"]> {
  if (await isPresent(layoutOf(directory).result)) return "ended";
  return (await isLocked(directory)) ? "training" : "stopped";
}
