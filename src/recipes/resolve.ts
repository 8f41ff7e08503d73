/**
 * From a file and overrides to a recipe that can be run: layers merged, every default filled in, every value checked,
 * every combination checked, and all mistakes reported at once, before anything is spent.
 */
import { ZodError, ZodType } from "zod";
import type { Algorithm } from "../credit/algorithm.ts";
import type { Environment } from "../environments/environment.ts";
import { builtInCatalog } from "./built-in.ts";
import type { Catalog } from "./catalog.ts";
import { withAdapters } from "./adapters.ts";
import { explain } from "./validation/explain.ts";
import { strayNulls } from "./validation/stray-nulls.ts";
import { validate } from "./validation/validate.ts";
import { loadTree } from "./load.ts";
import type { Mistake } from "./mistakes.ts";
import { RecipeError } from "./mistakes.ts";
import { hintAt } from "./mistakes.ts";
import { showOrigin } from "./origin.ts";
import { applyOverrides } from "./overrides.ts";
import type { Recipe } from "./schema.ts";
import { recipeSchema } from "./schema.ts";
import type { JsonSchema } from "./shape.ts";
import { jsonSchemaOf } from "./shape.ts";
import type { MappingTree, Path } from "./tree.ts";
import { originAt, plainOf, showKey, treeAt } from "./tree.ts";

export interface ResolvedRecipe {
  /** With the defaults of the schema, of the environment and of the algorithm. */
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
  /** Where the value at a path came from: `recipes/plan-path.yaml:3:7`, an override, or "default". */
  readonly originOf: (path: Path) => string;
}

/**
 * Reads, merges and checks a recipe.
 * @param overrides `key.path=value`, later ones over earlier ones, all over the file
 * @throws RecipeError with every mistake
 */
export async function resolveRecipe(
  file: string,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<ResolvedRecipe> {
  return resolveTree(applyOverrides(loadTree(file), overrides), catalog);
}

/** As `resolveRecipe`, of layers that are merged already. */
export async function resolveTree(
  tree: MappingTree,
  catalog: Catalog = builtInCatalog,
): Promise<ResolvedRecipe> {
  rejectExperiment(tree);
  const plain = plainOf(tree) as Record<string, unknown>;
  const parsed = recipeSchema.safeParse(plain);
  const stray = strayNulls(tree, wholeShape(plain, catalog));
  const mistakes: Mistake[] = [...stray];
  if (!parsed.success)
    mistakes.push(...withoutParents(explain(parsed.error.issues, tree, recipeShape()), stray));
  const environment = await choose("environment", plain, catalog.environments, tree, mistakes);
  const algorithm = await choose("algorithm", plain, rowsByName(catalog), tree, mistakes);
  if (!parsed.success || !environment || !algorithm || stray.length > 0) throw new RecipeError(mistakes);
  const recipe: Recipe = {
    ...parsed.data,
    policies: withAdapters(parsed.data.policies),
    environment: environment.settings,
    algorithm: algorithm.settings,
  };
  const resolved = { recipe, environment: environment.value, algorithm: algorithm.value };
  mistakes.push(
    ...validate(resolved, catalog).map(({ path, ...rest }) => ({
      ...rest,
      origin: originAt(tree, path),
      key: showKey(path),
    })),
  );
  if (mistakes.length > 0) throw new RecipeError(mistakes);
  return { ...resolved, originOf: (path) => describeOrigin(tree, path) };
}

function rejectExperiment({ origin, entries }: MappingTree): void {
  if (!entries.has("rows") || !entries.has("columns")) return;
  const problem = "this is an experiment, not a recipe";
  throw new RecipeError([{ origin, key: "", problem, fix: "`troupe experiment` takes it" }]);
}

/** A mapping whose only key was misread is not also told that it lacks one. */
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

/** With the options of the environment and of the algorithm that the recipe names; nothing of ones that do not exist. */
function wholeShape(plain: Readonly<Record<string, unknown>>, catalog: Catalog): JsonSchema {
  const shape = recipeShape();
  const environment = optionsShape(plain["environment"], catalog.environments);
  const algorithm = optionsShape(plain["algorithm"], catalog.algorithms);
  return { ...shape, properties: { ...shape.properties, environment, algorithm } };
}

function optionsShape(
  given: unknown,
  definitions: Readonly<Record<string, { readonly options: unknown }>>,
): JsonSchema {
  const name = typeof given === "object" && given !== null && "name" in given ? given.name : undefined;
  const known = typeof name === "string" && Object.hasOwn(definitions, name);
  const options = known ? definitions[name]?.options : undefined;
  if (!(options instanceof ZodType)) return {};
  return named(jsonSchemaOf(options));
}

/** Beside an environment's or an algorithm's own options stands its name. */
function named(shape: JsonSchema): JsonSchema {
  return { ...shape, properties: { name: { type: "string" }, ...shape.properties } };
}

function rowsByName(catalog: Catalog): Readonly<Record<string, Definition<Algorithm>>> {
  const rows = Object.entries(catalog.algorithms).map(([name, row]) => [
    name,
    {
      options: row.options,
      create: (given: unknown): Algorithm => ({ name, source: row.source, ...row.build(given) }),
    },
  ]);
  return Object.fromEntries(rows) as Readonly<Record<string, Definition<Algorithm>>>;
}

interface Definition<Made> {
  readonly options: { parse(input: unknown): unknown };
  create(options: unknown): Made | Promise<Made>;
}

interface Chosen<Made> {
  readonly value: Made;
  /** The name and every option, defaults filled in. */
  readonly settings: { readonly name: string; readonly [option: string]: unknown };
}

/** What `environment` or `algorithm` names, made with its own checked options. Adds to the mistakes. */
async function choose<Made>(
  key: "environment" | "algorithm",
  plain: Readonly<Record<string, unknown>>,
  definitions: Readonly<Record<string, Definition<Made>>>,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Chosen<Made> | undefined> {
  const given = plain[key];
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const { name, ...options } = given as Record<string, unknown>;
  if (typeof name !== "string") return undefined;
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  if (definition === undefined) {
    mistakes.push(unknownName(key, name, Object.keys(definitions), tree));
    return undefined;
  }
  try {
    const checked = definition.options.parse(options) as Record<string, unknown>;
    return { value: await definition.create(checked), settings: { name, ...checked } };
  } catch (error) {
    mistakes.push(...explainOptions(error, key, definition, tree));
    return undefined;
  }
}

function unknownName(key: string, name: string, known: readonly string[], tree: MappingTree): Mistake {
  return {
    origin: originAt(tree, [key, "name"]),
    key: `${key}.name`,
    problem: `there is no ${key} \`${name}\``,
    fix: `${hintAt(name, known)}Known: ${known.join(", ")}`,
  };
}

function explainOptions(
  error: unknown,
  key: string,
  definition: Definition<unknown>,
  tree: MappingTree,
): readonly Mistake[] {
  if (error instanceof ZodError) {
    const { options } = definition;
    const shape = options instanceof ZodType ? named(jsonSchemaOf(options)) : {};
    return explain(error.issues, tree, shape, [key]);
  }
  if (!(error instanceof Error)) throw error;
  return [{ origin: originAt(tree, [key]), key, problem: error.message }];
}
