/** Epochs in steps: epochs × problems of the training split / problems per step. */
import { resolveDataset, datasetSchema } from "../../data/dataset.ts";
import { parseSlices, rowsOf } from "../../data/slices.ts";
import { TroupeError } from "../../errors.ts";
import type { Catalog } from "../catalog.ts";
import { findAndMake, environmentKind } from "../choice.ts";
import { originAt, plainOf, type Origin, type MappingTree } from "../tree.ts";
import type { Warning } from "../validation/warnings.ts";
import { valueAt } from "./conversions.ts";
import { mistake } from "./translate.ts";

export interface Epochs {
  readonly origin: Origin;
  readonly count: number;
}

interface Change {
  readonly epochs: Epochs | undefined;
  readonly resized: Origin | undefined;
}

interface Steps {
  readonly origin: Origin;
  /** Undefined: unchanged. */
  readonly steps: number | undefined;
  readonly warnings: readonly Warning[];
}

/**
 * The steps of the given epochs. Where only the problems changed, of as many epochs as the recipe has; not if an
 * override sets the steps. Undefined: nothing changes.
 */
export async function stepsOf(
  base: MappingTree,
  tree: MappingTree,
  { epochs, resized }: Change,
  catalog: Catalog,
): Promise<Steps | undefined> {
  if (epochs !== undefined) return ofEpochs(tree, epochs, catalog);
  if (resized === undefined || originAt(tree, ["train", "steps"]).kind === "override") return undefined;
  const [before, after] = [await problemsIn(base, catalog), await problemsIn(tree, catalog)];
  const old = Number(valueAt(plain(base), "train.steps"));
  if (before === undefined || after === undefined) return unknownEpochs(resized, old);
  const count = (old * tasksPerStep(base)) / before;
  const steps = toSteps(count, after, tree);
  if (steps === old) return undefined;
  const problem = `${steps} instead of ${old}, for ${showEpochs(count)} of ${after} problems`;
  const fix = "choose it yourself with train.steps=…";
  return { origin: resized, steps, warnings: [{ key: "train.steps", problem, fix }] };
}

async function ofEpochs(tree: MappingTree, { origin, count }: Epochs, catalog: Catalog): Promise<Steps> {
  const problems = await problemsIn(tree, catalog);
  if (problems !== undefined) return { origin, steps: toSteps(count, problems, tree), warnings: [] };
  const fix = "give the number of steps: train.steps=…";
  throw mistake(origin, "train.steps", "the number of problems in an epoch is not known", fix);
}

function unknownEpochs(origin: Origin, steps: number): Steps {
  const problem = `${steps} as in the recipe, since its number of problems is not known`;
  const fix = "set magrpo.num_train_epochs=… or train.steps=…";
  return { origin, steps: undefined, warnings: [{ key: "train.steps", problem, fix }] };
}

function toSteps(epochs: number, problems: number, tree: MappingTree): number {
  return Math.ceil((epochs * problems) / tasksPerStep(tree));
}

function tasksPerStep(tree: MappingTree): number {
  const tasks = Number(valueAt(plain(tree), "train.tasksPerStep"));
  return tasks > 0 ? tasks : 1;
}

function showEpochs(count: number): string {
  return `${Number(count.toFixed(2))} epoch${count === 1 ? "" : "s"}`;
}

/** Rows of the training split; undefined: endless, or not known. */
async function problemsIn(tree: MappingTree, catalog: Catalog): Promise<number | undefined> {
  return registeredRows(plain(tree)) ?? (await openedProblems(tree, catalog));
}

/** Without opening the data set. */
function registeredRows(recipe: Readonly<Record<string, unknown>>): number | undefined {
  const dataset = datasetSchema.safeParse(valueAt(recipe, "environment.dataset")).data;
  const slices = valueAt(recipe, "environment.splits.train");
  if (dataset === undefined || typeof slices !== "string") return undefined;
  try {
    const [config, ...others] = Object.values(resolveDataset(dataset).set?.configs ?? {});
    if (config === undefined || others.length > 0) return undefined;
    const ranges = parseSlices(slices).map((slice) => rowsOf(slice, config.splits[slice.split]?.rows ?? NaN));
    const rows = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
    return Number.isFinite(rows) ? rows : undefined;
  } catch (error) {
    if (error instanceof TroupeError) return undefined;
    throw error;
  }
}

async function openedProblems(tree: MappingTree, catalog: Catalog): Promise<number | undefined> {
  const environment = await findAndMake(environmentKind(catalog), tree, []);
  return environment?.tasks["train"]?.size ?? undefined;
}

function plain(tree: MappingTree): Readonly<Record<string, unknown>> {
  return plainOf(tree) as Record<string, unknown>;
}
