/** Applies overrides of both kinds in order: our keys with YAML values, published keys with Python values. */
import { basename } from "node:path";
import { command } from "../../command-line.ts";
import type { Catalog } from "../catalog.ts";
import { applyValue, applyYaml, readOverride, type Override } from "../layers.ts";
import { withoutMeasurements, loadTree } from "../load.ts";
import { RecipeError, type Mistake } from "../mistakes.ts";
import { recipeSchema } from "../schema.ts";
import { shippedRecipes } from "../shipped.ts";
import { plainOf, type Origin, type MappingTree, type Tree } from "../tree.ts";
import type { Warning } from "../validation/warnings.ts";
import { parseYaml } from "../yaml.ts";
import { valueAt, type Setting, type Translation } from "./conversions.ts";
import { stepsOf, type Epochs } from "./epochs.ts";
import type { PythonValue } from "./python-literal.ts";
import {
  canonical,
  isPublished,
  mistake,
  publishedSuggestion,
  readPublished,
  translate,
  valuesIn,
  type PublishedValue,
} from "./translate.ts";

export interface Overridden {
  readonly tree: MappingTree;
  readonly warnings: readonly Warning[];
}

/** What was done so far. */
interface Progress {
  tree: Tree;
  readonly warnings: Warning[];
  /** The last number of epochs, unless our `train.steps` came after it. */
  epochs: Epochs | undefined;
  /** The last change of what an epoch contains. */
  resized: Origin | undefined;
}

type Step = Override | PublishedValue;

/**
 * @param given a recipe's layers, or a configuration of MAGRPO
 * @throws RecipeError listing every unreadable override
 */
export async function applyEveryOverride(
  given: MappingTree,
  overrides: readonly string[],
  catalog: Catalog,
): Promise<Overridden> {
  const mistakes: Mistake[] = [];
  const { base, values } = configurationIn(given) ?? { base: given, values: [] };
  const steps = overrides.flatMap((text) => collecting(mistakes, () => read(text)) ?? []);
  return applySteps(base, [...values, ...steps], mistakes, catalog);
}

async function applySteps(
  base: MappingTree,
  steps: readonly Step[],
  mistakes: Mistake[],
  catalog: Catalog,
): Promise<Overridden> {
  const progress: Progress = { tree: base, warnings: [], epochs: undefined, resized: undefined };
  const given = givenBy(steps);
  for (const step of steps) {
    collecting(mistakes, () =>
      "key" in step ? applyPublished(progress, step, base, given) : applyOwn(progress, step),
    );
  }
  if (mistakes.length > 0) throw new RecipeError(mistakes);
  const tree = progress.tree as MappingTree;
  const found = await stepsOf(base, tree, progress, catalog);
  if (found === undefined) return { tree, warnings: progress.warnings };
  const { origin, steps: count, warnings } = found;
  const whole = count === undefined ? tree : applyValue(tree, stepsKey, treeOf(count, origin), origin);
  return { tree: whole as MappingTree, warnings: [...progress.warnings, ...warnings] };
}

const stepsKey = ["train", "steps"];

function read(text: string): readonly Step[] {
  const override = readOverride(text);
  const { origin, path, value } = override;
  if (isPublished(path)) return readPublished(origin, path, value);
  const suggestion = publishedSuggestion(path, Object.keys(recipeSchema.shape));
  if (suggestion !== undefined) throw mistake(origin, path.join("."), "unknown key", suggestion);
  return [override];
}

function givenBy(steps: readonly Step[]): Translation["given"] {
  const values = new Map(
    steps.flatMap((step) => ("key" in step ? [[canonical(step.key), step.value] as const] : [])),
  );
  return (key) => values.get(key);
}

function applyOwn(progress: Progress, step: Override): void {
  if (step.path.join(".") === stepsKey.join(".")) progress.epochs = undefined;
  progress.tree = applyYaml(progress.tree, step);
}

function applyPublished(
  progress: Progress,
  step: PublishedValue,
  base: MappingTree,
  given: Translation["given"],
): void {
  const translation = { recipe: plain(progress.tree), base: plain(base), given };
  const { settings, warnings } = translate(step, translation);
  progress.warnings.push(...warnings);
  for (const setting of settings) applySetting(progress, setting, step.origin);
}

/** What changes the number of steps in an epoch. */
const sizes = ["environment.dataset", "environment.splits.train", "train.tasksPerStep"];

function applySetting(progress: Progress, { path, value, unit }: Setting, origin: Origin): void {
  if (unit === "epochs") progress.epochs = { origin, count: Number(value) };
  else progress.tree = applyValue(progress.tree, path, treeOf(value, origin), origin);
  if (sizes.includes(path.join("."))) progress.resized = origin;
}

function treeOf(value: PythonValue, origin: Origin): Tree {
  return parseYaml(JSON.stringify(value), () => origin);
}

function plain(tree: Tree): Readonly<Record<string, unknown>> {
  return plainOf(tree) as Record<string, unknown>;
}

function collecting<Result>(mistakes: Mistake[], work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RecipeError)) throw error;
    mistakes.push(...error.mistakes);
    return undefined;
  }
}

export interface Configuration {
  /** The included recipe with its algorithm, data set and number of turns, under the file's name. */
  readonly base: MappingTree;
  readonly values: readonly PublishedValue[];
}

/** Null: the file is a recipe. @throws RecipeError for keys that are not published, and other data sets */
export function configurationIn(tree: MappingTree): Configuration | null {
  const section = ["magrpo", "grpo"].find((head) => tree.entries.has(head));
  if (section === undefined) return null;
  const other = [...tree.entries].find(([head]) => !isPublished([head]));
  if (other === undefined) return { base: named(baseOf(tree, section), tree.origin), values: leavesOf(tree) };
  const [head, { keyOrigin }] = other;
  const problem = `unknown key in a configuration of MAGRPO, which this file is because of its key ${section}`;
  const fix = `remove one of the two; published keys change a recipe as overrides, such as ${section}.num_turns=2`;
  throw mistake(keyOrigin, head, problem, fix);
}

function leavesOf({ entries }: MappingTree): PublishedValue[] {
  return [...entries].flatMap(([head, { keyOrigin, value }]) => inside([head], keyOrigin, value));
}

/** With the line of each key. */
function inside(path: readonly string[], origin: Origin, value: Tree): readonly PublishedValue[] {
  const flat = valuesIn(origin, path, plainOf(value) as PythonValue);
  const isWhole = flat.length === 1 && flat[0]?.key === path.join(".");
  if (isWhole || value.kind !== "mapping") return flat;
  return [...value.entries].flatMap(([key, entry]) => inside([...path, key], entry.keyOrigin, entry.value));
}

function baseOf(tree: MappingTree, section: string): MappingTree {
  const values = plainOf(tree) as Record<string, unknown>;
  const turns = section === "magrpo" && Number(valueAt(values, "magrpo.num_turns") ?? 1) > 1 ? "mt-" : "";
  const dataset = valueAt(values, "dataset.name") ?? "humaneval";
  const name = `code/${turns}${section}-${typeof dataset === "string" ? setOf(dataset) : "?"}`;
  const file = shippedRecipes()[name];
  if (file !== undefined) return withoutMeasurements(loadTree(file));
  const origin = tree.entries.get("dataset")?.keyOrigin ?? tree.origin;
  const fix = `train one of those that \`${command("recipes", "code")}\` lists, with published keys as overrides`;
  throw mistake(
    origin,
    "dataset.name",
    `there is no included recipe for ${section} on ${JSON.stringify(dataset)}`,
    fix,
  );
}

function setOf(dataset: string): string {
  const name = dataset.toLowerCase();
  if (name.includes("coop")) return "che";
  return name.includes("humaneval") ? "he" : name.includes("mbpp") ? "mbpp" : name;
}

function named(base: MappingTree, origin: Origin): MappingTree {
  if (origin.kind !== "file") return base;
  const name = basename(origin.file).replace(/\.ya?ml$/, "");
  return applyValue(base, ["name"], { kind: "scalar", origin, value: name }, origin) as MappingTree;
}
