/**
 * Single parts without a whole recipe: an environment or an algorithm by name, these and an engine from a module, with its default
 * options and overrides; the `logging` section of a run.
 */
import { z } from "zod";
import type { Algorithm } from "../credit/algorithm.ts";
import type { ConfiguredEngine } from "../engines/kind.ts";
import type { Environment } from "../environments/environment.ts";
import { loggingSettings, type LoggingSettings } from "../logging/settings.ts";
import { builtInCatalog, type Catalog } from "./catalog.ts";
import { findAndMake, algorithmKind, engineModuleKind, environmentKind, type Kind } from "./choice.ts";
import { applyOverrides } from "./layers.ts";
import { RecipeError, type Mistake } from "./mistakes.ts";
import { jsonSchemaOf } from "./shape.ts";
import { plainOf, type MappingTree } from "./tree.ts";
import { explain } from "./validation/explain.ts";

/** A module's path is relative to the working directory. */
export type Lone =
  | { readonly name: string }
  | { readonly module: string; readonly export?: string | undefined };

/**
 * @param overrides `environment.key=value`
 * @throws RecipeError listing every mistake
 */
export function loneEnvironment(
  settings: Lone,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<Environment> {
  return lone(environmentKind(catalog), settings, overrides);
}

/** Like `loneEnvironment`; overrides are `algorithm.key=value`. */
export function loneAlgorithm(
  settings: Lone,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<Algorithm> {
  return lone(algorithmKind(catalog), settings, overrides);
}

/** Like `loneEnvironment`, from a module; overrides are `engine.key=value`. */
export function loneEngine(
  settings: Extract<Lone, { readonly module: string }>,
  overrides: readonly string[] = [],
): Promise<ConfiguredEngine> {
  return lone(engineModuleKind(), settings, overrides);
}

async function lone<Value>(kind: Kind<Value>, settings: Lone, overrides: readonly string[]): Promise<Value> {
  const own = Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${kind.key}.${key}=${JSON.stringify(value)}`);
  const empty: MappingTree = { kind: "mapping", origin: { kind: "override", text: "" }, entries: new Map() };
  const tree = applyOverrides(empty, [...own, ...overrides]);
  const mistakes = strayKeys(tree, kind.key);
  const made = await findAndMake(kind, tree, mistakes);
  if (made === undefined || mistakes.length > 0) throw new RecipeError(mistakes);
  return made;
}

function strayKeys({ entries }: MappingTree, own: string): Mistake[] {
  const stray = [...entries].filter(([key]) => key !== own);
  return stray.map(([key, { keyOrigin }]) => ({
    origin: keyOrigin,
    key,
    problem: "there is no recipe to override",
    fix: `write \`${own}.key=value\` for an option of the ${own}`,
  }));
}

const section = z.strictObject({ logging: loggingSettings.prefault({}) });

/**
 * @param recipe as written in the run's folder; only its `logging` section is read
 * @param overrides `logging.key=value`
 * @throws RecipeError listing every mistake
 */
export function settingsOf(recipe: unknown, overrides: readonly string[]): LoggingSettings {
  const given = z.object({ logging: z.unknown() }).partial().catch({}).parse(recipe).logging;
  const empty: MappingTree = { kind: "mapping", origin: { kind: "override", text: "" }, entries: new Map() };
  const own = given === undefined ? [] : [`logging=${JSON.stringify(given)}`];
  const tree = applyOverrides(empty, [...own, ...overrides]);
  const parsed = section.safeParse(plainOf(tree));
  if (parsed.success) return parsed.data.logging;
  throw new RecipeError(explain(parsed.error.issues, tree, jsonSchemaOf(section)));
}
