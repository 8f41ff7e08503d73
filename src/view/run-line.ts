/** One line about a run, from the ends of its files: it takes the same time for a run of any length. */
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { parse } from "yaml";
import { TroupeError } from "../errors.ts";
import { jsonOrNull } from "../json.ts";
import { isPresent } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import { isLocked } from "../runs/lock.ts";
import { readEvaluations } from "../runs/read.ts";
import { readRegular } from "../runs/regular.ts";
import { besides } from "../runs/same-training.ts";
import type { Interval, RunLine } from "./api.ts";
import { lastLine } from "./followed.ts";

/** What is read of a recipe, which nothing has checked. */
export interface RecipeParts {
  readonly name?: unknown;
  readonly seed?: unknown;
  readonly environment?: { readonly name?: unknown; readonly module?: unknown } | null;
  readonly algorithm?: { readonly name?: unknown; readonly module?: unknown } | null;
  readonly policies?: Readonly<Record<string, unknown>> | null;
  readonly team?: {
    readonly roles?: Readonly<Record<string, unknown>> | null;
    readonly phases?: readonly (readonly string[])[];
  } | null;
  readonly warmStart?: { readonly steps?: number } | null;
  readonly train?: { readonly steps?: number } | null;
}

export interface ReadRecipe {
  readonly text: string;
  readonly parts: RecipeParts;
}

/** Reads a run's recipe again if the file was written. */
export class RecipeFile {
  readonly #file: string;
  #version = "";
  #read: ReadRecipe | null = null;

  constructor(directory: string) {
    this.#file = layoutOf(directory).recipe;
  }

  /** @throws TroupeError `bad_run` if there is none, or it is not YAML */
  async read(): Promise<ReadRecipe> {
    try {
      const { mtimeMs, size } = await fs.stat(this.#file);
      const version = `${mtimeMs} ${size}`;
      if (this.#read !== null && this.#version === version) return this.#read;
      const text = (await readRegular(this.#file)).toString("utf8");
      const value: unknown = parse(text, { logLevel: "error" });
      if (typeof value !== "object" || value === null) throw new Error("it holds no recipe");
      this.#read = { text, parts: value };
      this.#version = version;
      return this.#read;
    } catch (cause) {
      const problem = `${this.#file} cannot be read as a recipe: ${(cause as Error).message}`;
      throw new TroupeError("bad_run", `${problem}. Restore the file.`, { cause });
    }
  }
}

/** Damage is reported in the line, never thrown. */
export async function runLine(run: string, directory: string, recipe: RecipeFile): Promise<RunLine> {
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
    const { parts } = await recipe.read();
    known = { ...known, ...described(parts) };
    known = { ...known, step: await lastStep(directory) };
    known = { ...known, success: await lastSuccess(directory) };
    return { ...known, state: await stateOf(directory) };
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return { ...known, state: "damaged", problem: error.message };
  }
}

function described(parts: RecipeParts) {
  const { name, seed, environment, algorithm, warmStart, train } = parts;
  return {
    recipe: typeof name === "string" ? name : "",
    environment: named(environment),
    algorithm: named(algorithm),
    training: trainingOf(parts),
    seed: typeof seed === "number" ? seed : null,
    steps: typeof train?.steps === "number" ? (warmStart?.steps ?? 0) + train.steps : null,
  };
}

/** What a run is called, and what it may change when it is resumed, does not count. */
function trainingOf(parts: RecipeParts): string {
  const { seed: _, name: _name, ...given } = parts;
  const kept = Object.entries(given).filter(([key]) => !besides.has(key));
  return createHash("sha256").update(JSON.stringify(kept)).digest("hex").slice(0, 16);
}

function named(part: RecipeParts["environment"]): string {
  const found = part?.name ?? part?.module;
  return typeof found === "string" ? found : "";
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

async function lastSuccess(directory: string): Promise<Interval | null> {
  const found = (await readEvaluations(directory)).findLast(({ team }) => team === "team");
  return found === undefined ? null : { mean: found.success, low: found.low, high: found.high };
}

async function stateOf(directory: string): Promise<RunLine["state"]> {
  if (await isPresent(layoutOf(directory).result)) return "ended";
  return (await isLocked(directory)) ? "training" : "stopped";
}
