/** Applies overrides of both kinds in order: our keys with YAML values, published keys with Python values. */
import { type Catalog } from "../catalog.ts";
import type { Mistake } from "../mistakes.ts";
import { RecipeError } from "../mistakes.ts";
import type { Origin } from "../origin.ts";
import { applyValue, applyYaml, type Override, readOverride } from "../overrides.ts";
import { recipeSchema } from "../schema.ts";
import type { MappingTree, Tree } from "../tree.ts";
import { plainOf } from "../tree.ts";
import type { Warning } from "../validation/warnings.ts";
import { parseYaml } from "../yaml.ts";
import { configurationIn } from "./configuration.ts";
import { type Epochs, stepsOf } from "./epochs.ts";
import type { PythonValue } from "./python-literal.ts";
import type { Setting, Translation } from "./setting.ts";
import {
  canonical,
  isPublished,
  mistake,
  type PublishedValue,
  publishedSuggestion,
  readPublished,
  translate,
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
