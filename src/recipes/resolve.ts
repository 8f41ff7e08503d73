/**
 * Resolves a file and overrides to a runnable recipe: merges layers, fills in defaults, checks every value and
 * combination, and reports all mistakes at once, before training starts.
 */
import { command } from "../command-line.ts";
import type { Algorithm } from "../credit/algorithm.ts";
import type { ConfiguredEngine } from "../engines/kind.ts";
import type { Environment } from "../environments/environment.ts";
import type { ConfiguredJudge } from "../judges/judge.ts";
import { builtInCatalog, type Catalog } from "./catalog.ts";
import {
  find,
  findAndMake,
  make,
  makeOutline,
  optionsShape,
  algorithmKind,
  engineModuleKind,
  engineOfType,
  environmentKind,
  judgeKind,
  type Found,
  type Made,
} from "./choice.ts";
import { withAdapters, withLimits, withoutPhases, withFittingWarmUps } from "./defaults.ts";
import { applyOverrides } from "./layers.ts";
import { loadTree } from "./load.ts";
import { RecipeError, type Mistake } from "./mistakes.ts";
import { isFileSync, isPresentSync } from "../present.ts";
import {
  withDatasetFiles,
  withJudgeFolder,
  checkModelsOfRun,
  withModelPlaces,
  withToolPlaces,
} from "./places.ts";
import { applyEveryOverride } from "./published/apply.ts";
import { recipeSchema, type Recipe } from "./schema.ts";
import { jsonSchemaOf, type JsonSchema } from "./shape.ts";
import {
  showOrigin,
  showPath,
  originAt,
  plainOf,
  showKey,
  treeAt,
  type MappingTree,
  type Path,
} from "./tree.ts";
import { explain, strayNulls } from "./validation/explain.ts";
import { validate } from "./validation/validate.ts";
import type { Warning } from "./validation/warnings.ts";

export interface ResolvedRecipe {
  /** With all defaults: of the schema, the environment and the algorithm. */
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
  /** Absent: the recipe has none. */
  readonly judge?: ConfiguredJudge;
  /** What the recipe's `engine` can do, and how it is opened. */
  readonly configuredEngine: ConfiguredEngine;
  /** Automatic adjustments. */
  readonly adjustments: readonly Warning[];
  /** The origin of the value at a path: `recipes/plan-path.yaml:3:7`, an override, or "default". */
  readonly originOf: (path: Path) => string;
}

/**
 * Reads, merges and checks a recipe.
 * @param overrides `key.path=value`, also with keys of MAGRPO's configuration; later ones win, and all win over the file
 * @throws RecipeError listing every mistake
 */
export async function resolveRecipe(
  file: string,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<ResolvedRecipe> {
  return resolveFile(file, overrides, catalog, {});
}

/** A recipe whose models and data may be elsewhere. */
export interface PlannedRecipe extends ResolvedRecipe {
  /** What is not here, so that it could not be checked. */
  readonly missing: readonly string[];
}

/** Like `resolveRecipe`, for a plan: missing model directories and data are listed, not rejected. */
export async function resolveForPlan(
  file: string,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<PlannedRecipe> {
  const missing: string[] = [];
  const resolved = await resolveFile(file, overrides, catalog, { missing });
  return { ...resolved, missing };
}

/** Like `resolveRecipe`, for a caller that loads no model: the policies' models need not exist or fit. */
export async function resolveWithoutModels(
  file: string,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<ResolvedRecipe> {
  return resolveFile(file, overrides, catalog, { unused: ["policies", "warmStart"] });
}

/** What is not required of a recipe. */
interface Leniency {
  /** Keys of the recipe whose values are only checked for their form. */
  readonly unused?: readonly string[];
  /** Gets what is not here; absent: it is a mistake. */
  readonly missing?: string[];
}

async function resolveFile(
  file: string,
  overrides: readonly string[],
  catalog: Catalog,
  leniency: Leniency,
): Promise<ResolvedRecipe> {
  const { tree, warnings } = await applyEveryOverride(loadTree(file), overrides, catalog);
  const resolved = await resolveTree(tree, catalog, leniency);
  return { ...resolved, adjustments: [...warnings, ...resolved.adjustments] };
}

/** The merged layers as plain values, with absolute paths. */
function withPlaces(tree: MappingTree, { judges }: Catalog): Readonly<Record<string, unknown>> {
  const judged = withJudgeFolder(plainOf(tree) as Record<string, unknown>, tree, judges);
  return withDatasetFiles(withToolPlaces(withModelPlaces(judged, tree), tree), tree);
}

/** Like `resolveRecipe`, for merged layers. */
export async function resolveTree(
  tree: MappingTree,
  catalog: Catalog = builtInCatalog,
  leniency: Leniency = {},
): Promise<ResolvedRecipe> {
  rejectExperiment(tree);
  const plain = withPlaces(tree, catalog);
  const parsed = recipeSchema.safeParse(plain);
  const unfound: Mistake[] = [];
  const ownEngine = await find(engineModuleKind(), plain, tree, unfound);
  const named = {
    environment: await find(environmentKind(catalog), plain, tree, unfound),
    algorithm: await find(algorithmKind(catalog), plain, tree, unfound),
    judge: await find(judgeKind(catalog), plain, tree, unfound),
    ...(ownEngine === undefined ? {} : { engine: ownEngine }),
  };
  const stray = strayNulls(tree, wholeShape(named));
  const mistakes: Mistake[] = [...stray];
  if (!parsed.success)
    mistakes.push(...withoutParents(explain(parsed.error.issues, tree, recipeShape()), stray));
  mistakes.push(...unfound);
  const environment = named.environment && (await makeOutline(named.environment, tree, mistakes));
  const algorithm = named.algorithm && (await make(named.algorithm, tree, mistakes));
  const judge = named.judge && (await make(named.judge, tree, mistakes));
  const engine = ownEngine && (await make(ownEngine, tree, mistakes));
  const isWhole =
    stray.length === 0 &&
    unfound.length === 0 &&
    (plain["judge"] === undefined || judge !== undefined) &&
    (ownEngine === undefined || engine !== undefined);
  if (!parsed.success || !environment || !algorithm || !isWhole) throw new RecipeError(mistakes);
  const chosen = { environment, algorithm, judge, engine: engine ?? includedEngine(parsed.data, catalog) };
  const resolved = resolvedFrom(parsed.data, chosen, tree);
  mistakes.push(...mistakesIn(resolved, tree, catalog, leniency));
  if (mistakes.length > 0) throw new RecipeError(mistakes);
  if (leniency.unused === undefined) await checkModelsOfRun(resolved.recipe, tree);
  const whole = await withData(resolved.environment, named.environment, tree, leniency);
  return { ...resolved, environment: whole, originOf: (path) => describeOrigin(tree, path) };
}

/** Data is downloaded only for a recipe without mistakes. */
async function withData(
  outline: Environment,
  found: Found<Environment> | undefined,
  tree: MappingTree,
  { missing }: Leniency,
): Promise<Environment> {
  if (found?.definition.outline === undefined) return outline;
  const mistakes: Mistake[] = [];
  const made = await make(found, tree, mistakes);
  if (made !== undefined) return made.value;
  if (missing === undefined || !mistakes.every(({ isElsewhere }) => isElsewhere))
    throw new RecipeError(mistakes);
  missing.push(...mistakes.map(({ key, problem }) => `${key}: ${problem.split("\n")[0]}`));
  return outline;
}

interface AllMade {
  readonly environment: Made<Environment>;
  readonly algorithm: Made<Algorithm>;
  readonly judge: Made<ConfiguredJudge> | undefined;
  readonly engine: Made<ConfiguredEngine>;
}

function includedEngine({ engine }: Pick<Recipe, "engine">, catalog: Catalog): Made<ConfiguredEngine> {
  const settings = engine as Exclude<Recipe["engine"], { readonly module: string }>;
  return { value: engineOfType(catalog, settings), settings };
}

type WithoutOrigins = Omit<ResolvedRecipe, "originOf">;

function resolvedFrom(
  parsed: Recipe,
  { environment, algorithm, judge, engine }: AllMade,
  tree: MappingTree,
): WithoutOrigins {
  const { stages, adjustments } = withFittingWarmUps(parsed, tree);
  const recipe: Recipe = {
    ...parsed,
    ...stages,
    policies: withAdapters(parsed.policies),
    ...withLimits(parsed, { environment: environment.value, configuredEngine: engine.value }),
    ...withoutPhases(parsed, environment.value, tree),
    environment: environment.settings,
    algorithm: algorithm.settings,
    engine: engine.settings as Recipe["engine"],
    ...(judge === undefined ? {} : { judge: judge.settings }),
  };
  return {
    recipe,
    environment: environment.value,
    algorithm: algorithm.value,
    configuredEngine: engine.value,
    ...(judge === undefined ? {} : { judge: judge.value }),
    adjustments,
  };
}

function mistakesIn(
  resolved: WithoutOrigins,
  tree: MappingTree,
  catalog: Catalog,
  { unused = [], missing }: Leniency,
): Mistake[] {
  const problems = validate(resolved, catalog).filter(({ path: [key] }) => !unused.includes(String(key)));
  const elsewhere =
    missing === undefined ? [] : problems.filter(({ path }) => isModelElsewhere(path, resolved));
  missing?.push(...elsewhere.map(({ path, problem }) => `${showKey(path)}: ${problem}`));
  return problems
    .filter((each) => !elsewhere.includes(each))
    .map(({ path, ...rest }) => ({
      ...rest,
      origin: originAt(tree, path),
      key: showKey(path),
    }));
}

/** A server may have what a directory lacks. Where models train on this machine, a directory that exists must be whole. */
function isModelElsewhere(
  [key, name, setting, last]: Path,
  { recipe, configuredEngine }: WithoutOrigins,
): boolean {
  if (key !== "policies" || setting !== "model" || last !== "path") return false;
  const model = recipe.policies[String(name)]?.model;
  if (model === undefined || !("path" in model)) return false;
  return configuredEngine.servers === null ? !isPresentSync(model.path) : !isFileSync(model.path);
}

/**
 * Only the environment of a recipe, ignoring mistakes elsewhere.
 * @throws RecipeError
 */
export async function environmentOf(file: string, catalog: Catalog = builtInCatalog): Promise<Environment> {
  const tree = loadTree(file);
  const mistakes: Mistake[] = [];
  const environment = await findAndMake(environmentKind(catalog), tree, mistakes);
  if (environment === undefined) throw new RecipeError(mistakes);
  return environment;
}

/**
 * Only the judge of a recipe, ignoring mistakes elsewhere; its program may be missing. Undefined: no judge.
 * @throws RecipeError
 */
export async function judgeOf(
  file: string,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<ConfiguredJudge | undefined> {
  const tree = applyOverrides(loadTree(file), overrides);
  const plain = withPlaces(tree, catalog);
  if (plain["judge"] === undefined) return undefined;
  const mistakes: Mistake[] = [];
  const found = await find(judgeKind(catalog), plain, tree, mistakes);
  const made = found && (await make(found, tree, mistakes));
  if (made !== undefined) return made.value;
  const problem = "expected a mapping with a name";
  if (mistakes.length === 0) mistakes.push({ origin: originAt(tree, ["judge"]), key: "judge", problem });
  throw new RecipeError(mistakes);
}

/**
 * Only the engine of a recipe, ignoring mistakes elsewhere.
 * @throws RecipeError
 */
export async function engineOf(file: string, catalog: Catalog = builtInCatalog): Promise<ConfiguredEngine> {
  const tree = loadTree(file);
  const { engine } = plainOf(tree) as { readonly engine?: unknown };
  const parsed = recipeSchema.pick({ engine: true }).safeParse({ engine });
  if (!parsed.success) throw new RecipeError(explain(parsed.error.issues, tree, recipeShape()));
  const mistakes: Mistake[] = [];
  const own = await findAndMake(engineModuleKind(), tree, mistakes);
  if (mistakes.length > 0) throw new RecipeError(mistakes);
  return own ?? includedEngine(parsed.data, catalog).value;
}

function rejectExperiment({ origin, entries }: MappingTree): void {
  if (!entries.has("rows") || !entries.has("columns")) return;
  const problem = "this is an experiment, not a recipe";
  const running = command("experiment", origin.kind === "file" ? showPath(origin.file) : "NAME");
  throw new RecipeError([{ origin, key: "", problem, fix: `run it with \`${running}\`` }]);
}

/** Skips the message about missing keys if the mapping's only key was misread. */
function withoutParents(mistakes: readonly Mistake[], stray: readonly Mistake[]): readonly Mistake[] {
  return mistakes.filter(({ key }) => !stray.some((each) => each.key.startsWith(`${key}.`)));
}

function describeOrigin(tree: MappingTree, path: Path): string {
  const found = treeAt(tree, path);
  if (found === undefined || (found.kind === "scalar" && found.value === null)) return "default";
  return showOrigin(found.origin);
}

/** The JSON Schema of a whole recipe, for messages and for editors. */
export function recipeShape(): JsonSchema {
  return jsonSchemaOf(recipeSchema);
}

/** Includes the options of everything the recipe names that exists. */
function wholeShape(named: Readonly<Record<string, Found<unknown> | undefined>>): JsonSchema {
  const shape = recipeShape();
  const options = Object.entries(named).map(([key, found]) => [key, optionsShape(found)] as const);
  return { ...shape, properties: { ...shape.properties, ...Object.fromEntries(options) } };
}
