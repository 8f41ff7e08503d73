/** Resolves `environment`, `algorithm`, `judge` and `engine` of a recipe: an included definition, or a user's module. */
import { basename } from "node:path";
import { ZodError, ZodObject, ZodType } from "zod";
import type { Algorithm, AlgorithmRow } from "../credit/algorithm.ts";
import { configureEngine, type ConfiguredEngine } from "../engines/kind.ts";
import { engineKinds } from "../engines/open.ts";
import type { Environment } from "../environments/environment.ts";
import { rememberModule } from "../environments/origin.ts";
import { DataElsewhereError, TroupeError } from "../errors.ts";
import type { ConfiguredJudge } from "../judges/judge.ts";
import type { Catalog } from "./catalog.ts";
import { hintAmong, type Mistake } from "./mistakes.ts";
import { asAlgorithm, asRow } from "./modules/algorithm-module.ts";
import { asEngineKind } from "./modules/engine-module.ts";
import { asDefinition, asEnvironment } from "./modules/environment-module.ts";
import { isPlain, kindOf, exportOf } from "./modules/exported.ts";
import { loadModule, ModuleError, type LoadedModule } from "./modules/load-module.ts";
import { thrown } from "./modules/import-errors.ts";
import { folderAt, seenFromHere } from "./places.ts";
import type { Recipe } from "./schema.ts";
import { jsonSchemaOf, type JsonSchema } from "./shape.ts";
import { originAt, plainOf, type MappingTree } from "./tree.ts";
import { explain } from "./validation/explain.ts";

/** Creates an environment, an algorithm, a judge or an engine from checked options. */
export interface Definition<Value> {
  readonly options: { parse(input: unknown): unknown };
  create(options: unknown): Value | Promise<Value>;
  /** Where creating may take long: enough of the value to check a recipe. */
  outline?(options: unknown): Value | Promise<Value>;
  /** Options that are paths, relative to the file that sets them, each with the words that are none. */
  readonly paths?: Readonly<Record<string, readonly string[]>>;
  /** An option that is a folder; by default that of the file that sets the option it belongs to. */
  readonly folder?: { readonly option: string; readonly of: string };
  /** An option that by default lists the seats of the recipe's roles. */
  readonly seatsOption?: string;
}

/** Where the names under one key of a recipe are looked up. */
export interface Kind<Value> {
  readonly key: "environment" | "algorithm" | "judge" | "engine";
  readonly known: Readonly<Record<string, Definition<Value>>>;
  /** @throws ModuleError if the module exports something else */
  fromModule(loaded: LoadedModule, given: ModuleSettings): Definition<Value>;
}

export interface ModuleSettings {
  readonly module: string;
  readonly export?: string | undefined;
}

/** A definition named by the recipe; its options are not yet checked. */
export interface Found<Value> {
  readonly key: Kind<Value>["key"];
  readonly definition: Definition<Value>;
  /** The settings in the resolved recipe besides the options. */
  readonly settings: Settings;
  /** As given. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface Made<Value> {
  readonly value: Value;
  /** All options, with defaults. */
  readonly settings: Settings;
}

type Plain = Readonly<Record<string, unknown>>;

/** Adds a mistake if nothing is found. */
export async function find<Value>(
  kind: Kind<Value>,
  plain: Plain,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Found<Value> | undefined> {
  const { key } = kind;
  const given = plain[key];
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const chooser = key === "engine" ? "type" : "name";
  const { [chooser]: name, module, ...rest } = given as Plain;
  if (name !== undefined && module !== undefined) {
    const problem = `cannot be combined with \`${chooser}\``;
    mistakes.push(mistakeAt(tree, key, "module", problem, `remove one, as with ${key}.${chooser}=null`));
    return undefined;
  }
  // The schema of recipes has the settings of each type.
  if (key === "engine" && module === undefined) return undefined;
  if (typeof name === "string") return named(kind, name, rest, plain, tree, mistakes);
  if (typeof module === "string") return inModule(kind, { module, ...rest }, plain, tree, mistakes);
  if (name === undefined && module === undefined) {
    const problem = `missing; expected ${expectedOf[key]}`;
    mistakes.push(mistakeAt(tree, key, "name", problem, `known: ${Object.keys(kind.known).join(", ")}`));
  }
  return undefined;
}

const expectedOf: Readonly<Record<Kind<unknown>["key"], string>> = {
  environment: "the name of an environment, or `module` with a file of your own",
  algorithm: "the name of an algorithm, or `module` with a file of your own",
  judge: "the name of a judge",
  engine: "the type of an engine, or `module` with a file of your own",
};

function named<Value>(
  { key, known }: Kind<Value>,
  name: string,
  options: Plain,
  recipe: Plain,
  tree: MappingTree,
  mistakes: Mistake[],
): Found<Value> | undefined {
  const definition = Object.hasOwn(known, name) ? known[name] : undefined;
  if (definition !== undefined)
    return {
      key,
      definition,
      settings: { name },
      options: completed(key, definition, options, recipe, tree),
    };
  const names = Object.keys(known);
  const problem = `there is no ${key} \`${name}\``;
  mistakes.push(mistakeAt(tree, key, "name", problem, hintAmong(name, names)));
  return undefined;
}

async function inModule<Value>(
  kind: Kind<Value>,
  given: Plain & { readonly module: string },
  recipe: Plain,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Found<Value> | undefined> {
  const { module, export: exported } = given;
  const wanted = { module, ...(typeof exported === "string" ? { export: exported } : {}) };
  try {
    const loaded = await loadModule(module, folderAt(tree, [kind.key, "module"]));
    const settings = { ...wanted, module: loaded.file, moduleHash: loaded.hash };
    const definition = kind.fromModule(loaded, wanted);
    rejectReserved(definition, module);
    return {
      key: kind.key,
      definition,
      settings,
      options: completed(kind.key, definition, optionsOf(given), recipe, tree),
    };
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error;
    mistakes.push(mistakeAt(tree, kind.key, "module", error.message, error.fix));
    return undefined;
  }
}

/** With what the recipe says elsewhere, and paths as seen from here. */
function completed(
  key: Kind<unknown>["key"],
  { paths = {}, folder, seatsOption }: Definition<unknown>,
  options: Plain,
  recipe: Plain,
  tree: MappingTree,
): Plain {
  const placed = Object.entries(paths).flatMap(([option, words]): (readonly [string, unknown])[] => {
    const given = options[option];
    if (Array.isArray(given)) {
      const seen = given.map((one: unknown) =>
        typeof one === "string" ? seenFromHere(tree, [key, option], one) : one,
      );
      return [[option, seen] as const];
    }
    if (typeof given !== "string" || words.includes(given)) return [];
    return [[option, seenFromHere(tree, [key, option], given)] as const];
  });
  return {
    ...(folder === undefined || options[folder.of] === undefined
      ? {}
      : { [folder.option]: seenFromHere(tree, [key, folder.of], ".") }),
    ...(seatsOption === undefined ? {} : { [seatsOption]: seatsIn(recipe) }),
    ...options,
    ...Object.fromEntries(placed),
  };
}

/** Of all teams of a recipe; what is not valid is left to the schema. */
function seatsIn({ team, evaluation }: Plain): readonly string[] {
  const entriesOf = (value: unknown, key: string): readonly (readonly [string, unknown])[] =>
    Object.entries(((value as Plain | null | undefined)?.[key] ?? {}) as Plain);
  const teams = [team, ...entriesOf(evaluation, "compare").map(([, compared]) => compared)];
  const roles = teams.flatMap((each) => [...entriesOf(each, "roles"), ...entriesOf(each, "hosted")]);
  const seats = roles.map(([name, role]) => {
    const seat = (role as Plain | null)?.["seat"];
    return typeof seat === "string" ? seat : name;
  });
  return [...new Set(seats)];
}

function rejectReserved({ options }: Definition<unknown>, module: string): void {
  if (!(options instanceof ZodObject)) return;
  const taken = settingKeys.find((key) => Object.hasOwn(options.shape, key));
  if (taken === undefined) return;
  throw new ModuleError(`${module} has an option \`${taken}\`, which is a reserved key`, "rename it");
}

/** Finds and creates what one key of a tree names, ignoring the rest of the tree. Adds mistakes if that fails. */
export async function findAndMake<Value>(
  kind: Kind<Value>,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Value | undefined> {
  const found = await find(kind, plainOf(tree) as Plain, tree, mistakes);
  return found && (await make(found, tree, mistakes))?.value;
}

/** Checks the options and creates the result. Adds mistakes if that fails. */
export function make<Value>(
  found: Found<Value>,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Made<Value> | undefined> {
  return makeBy((options) => found.definition.create(options), found, tree, mistakes);
}

/** As `make`, with the outline where there is one. */
export function makeOutline<Value>(
  found: Found<Value>,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Made<Value> | undefined> {
  const { definition } = found;
  if (definition.outline === undefined) return make(found, tree, mistakes);
  return makeBy((options) => definition.outline?.(options) as Value | Promise<Value>, found, tree, mistakes);
}

async function makeBy<Value>(
  create: Definition<Value>["create"],
  found: Found<Value>,
  tree: MappingTree,
  mistakes: Mistake[],
): Promise<Made<Value> | undefined> {
  const { definition, settings, options } = found;
  try {
    const checked = definition.options.parse(options);
    if (!isPlain(checked)) {
      const problem = `its options are ${kindOf(checked)} once they are parsed; a recipe can only contain plain data`;
      throw new ModuleError(
        problem,
        "let `options.parse` give an object of numbers, text, lists and objects",
      );
    }
    return { value: await create(checked), settings: { ...settings, ...checked } };
  } catch (error) {
    if (error instanceof TroupeError && error.code === "cancelled") throw error;
    mistakes.push(...explainFailure(error, found, tree));
    return undefined;
  }
}

function explainFailure(error: unknown, found: Found<unknown>, tree: MappingTree): readonly Mistake[] {
  const { key, settings } = found;
  if (error instanceof ZodError) return explain(error.issues, tree, optionsShape(found), [key]);
  if (error instanceof ModuleError) return [mistakeAt(tree, key, "module", error.message, error.fix)];
  const at = { origin: originAt(tree, [key]), key };
  if (settings.module !== undefined && !(error instanceof TroupeError)) {
    return [{ ...at, problem: `${settings.module} threw ${thrown(error)} while making the ${key}` }];
  }
  if (!(error instanceof Error)) throw error;
  const elsewhere = error instanceof DataElsewhereError ? { isElsewhere: true as const } : {};
  return [{ ...at, problem: error.message, ...elsewhere }];
}

/** The JSON Schema of the section, for messages; unknown for options that are not zod schemas. */
export function optionsShape(found: Found<unknown> | undefined): JsonSchema {
  const options = found?.definition.options;
  if (!(options instanceof ZodType)) return {};
  const shape = jsonSchemaOf(options);
  const own = found?.settings.module === undefined ? ["name"] : settingKeys;
  const beside = Object.fromEntries(own.map((key) => [key, { type: "string" }]));
  return { ...shape, properties: { ...beside, ...shape.properties } };
}

function mistakeAt(tree: MappingTree, key: string, option: string, problem: string, fix?: string): Mistake {
  const at = { origin: originAt(tree, [key, option]), key: `${key}.${option}` };
  return { ...at, problem, ...(fix === undefined ? {} : { fix }) };
}

export function environmentKind({ environments }: Pick<Catalog, "environments">): Kind<Environment> {
  return { key: "environment", known: environments, fromModule: environmentOf };
}

function environmentOf({ exported }: LoadedModule, given: ModuleSettings): Definition<Environment> {
  const { module, export: name } = given;
  const found = exportOf(exported, module, name, "an environment's definition");
  const definition = asDefinition(found, module);
  const { paths, folder, seatsOption } = definition;
  return {
    options: definition.options,
    ...(paths === undefined ? {} : { paths }),
    ...(folder === undefined ? {} : { folder }),
    ...(seatsOption === undefined ? {} : { seatsOption }),
    create: async (checked) => {
      const environment = asEnvironment(await definition.create(checked), module);
      rememberModule(environment, module);
      return environment;
    },
  };
}

export function algorithmKind({ algorithms }: Pick<Catalog, "algorithms">): Kind<Algorithm> {
  const rows = Object.entries(algorithms).map(([name, row]) => [name, rowDefinition(name, row)] as const);
  return { key: "algorithm", known: Object.fromEntries(rows), fromModule: algorithmOf };
}

function rowDefinition(name: string, row: AlgorithmRow): Definition<Algorithm> {
  const { options, source } = row;
  return { options, create: (checked) => ({ name, source, ...row.build(checked) }) };
}

function algorithmOf({ exported, file }: LoadedModule, given: ModuleSettings): Definition<Algorithm> {
  const { module } = given;
  const row = asRow(exportOf(exported, module, given.export, "an algorithm's row"), module);
  const name = nameOf(file, given);
  return { options: row.options, create: (checked) => asAlgorithm(row.build(checked), name, row, module) };
}

export function judgeKind({ judges }: Pick<Catalog, "judges">): Kind<ConfiguredJudge> {
  return { key: "judge", known: judges, fromModule: noJudge };
}

function noJudge(_: LoadedModule, { module }: ModuleSettings): never {
  throw new ModuleError(
    `${module}: judges are not read from modules`,
    "a program of your own is `name: command`",
  );
}

export function engineModuleKind(): Kind<ConfiguredEngine> {
  return { key: "engine", known: {}, fromModule: engineOf };
}

function engineOf({ exported, file }: LoadedModule, given: ModuleSettings): Definition<ConfiguredEngine> {
  const { module } = given;
  const kind = asEngineKind(exportOf(exported, module, given.export, "a kind of engine"), module);
  return {
    options: kind.options,
    ...(kind.paths === undefined ? {} : { paths: kind.paths }),
    create: (checked) => configureEngine(nameOf(file, given), kind, checked),
  };
}

/** Of a module: its export, or its file. */
function nameOf(file: string, { export: exported }: ModuleSettings): string {
  return exported ?? basename(file).replace(/\.[cm]?[jt]s$/, "");
}

/** An engine that a recipe names by its type, which the schema has checked with its settings. */
export function engineOfType(
  { engines }: Pick<Catalog, "engines">,
  settings: { readonly type: keyof typeof engineKinds },
): ConfiguredEngine {
  const { type } = settings;
  const kind = (Object.hasOwn(engines, type) ? engines[type] : undefined) ?? engineKinds[type];
  return configureEngine(type, kind, settings);
}

/** Keys of a recipe that can name a module. */
export const moduleKeys = ["environment", "algorithm", "engine"] as const;

/** The module that a resolved recipe names at a key, if any. */
export function moduleAt(
  recipe: Pick<Recipe, (typeof moduleKeys)[number]>,
  key: (typeof moduleKeys)[number],
): Pick<Settings, "module" | "moduleHash"> {
  return recipe[key] as Settings;
}

export interface Settings {
  readonly name?: string | undefined;
  /** In a resolved recipe a file's absolute path. */
  readonly module?: string | undefined;
  readonly export?: string | undefined;
  readonly moduleHash?: string | undefined;
  readonly [option: string]: unknown;
}

/** Keys that are not options. */
export const settingKeys = ["name", "module", "export", "moduleHash"] as const;

export function optionsOf(settings: Settings): Readonly<Record<string, unknown>> {
  const keys: readonly string[] = settingKeys;
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !keys.includes(key)));
}
