/** Loads what `troupe check` is given, a module or the name of an included definition, and returns its checks. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { z } from "zod";
import { algorithmChecks } from "../../credit/checks/checks.ts";
import { engineChecks } from "../../engines/conformance.ts";
import type { EngineCapabilities } from "../../engines/engine.ts";
import type { ConfiguredEngine } from "../../engines/kind.ts";
import { conformanceChecks } from "../../environments/conformance.ts";
import type { Environment, Services } from "../../environments/environment.ts";
import { TroupeError } from "../../errors.ts";
import { makeModel, vocabularySize, words } from "../../models/tiny-model.ts";
import { didYouMean } from "../../nearest.ts";
import { builtInCatalog } from "../../recipes/catalog.ts";
import { kindOfModule } from "../../recipes/modules/exported.ts";
import { loneAlgorithm, loneEngine, loneEnvironment, type Lone } from "../../recipes/parts.ts";
import { moduleFile } from "../arguments.ts";

export interface CheckOptions {
  readonly export?: string;
  readonly phases?: string;
  readonly turns?: number;
  readonly tasks?: number;
  readonly seed?: number;
}

export interface CheckedModule {
  readonly checks: readonly Check[];
  /** What is allowed, but may be missed later. */
  readonly hints: readonly string[];
}

export interface Check {
  readonly name: string;
  readonly run: () => Promise<void> | void;
}

/** What checks use. */
export interface Lent {
  readonly services: Services;
  /** An empty folder, which is removed after the checks. */
  readonly folder: string;
}

/** @throws RecipeError, ModuleError, TroupeError `bad_arguments` if the phases do not fit the environment */
export async function load(
  given: string,
  options: readonly string[],
  { export: exported, phases, turns, tasks, seed }: CheckOptions,
  { services, folder }: Lent,
): Promise<CheckedModule> {
  const { kind, lone } = await subjectOf(given, exported);
  const overrides = below(kind, options);
  if (kind === "engine")
    return { checks: await checksOfEngine(await loneEngine(lone, overrides), folder), hints: [] };
  if (kind === "algorithm")
    return { checks: algorithmChecks(await loneAlgorithm(lone, overrides), seed), hints: [] };
  const environment = await loneEnvironment(lone, overrides);
  const definition = {
    name: environment.name,
    summary: "",
    options: { parse: () => ({}) },
    create: () => environment,
  };
  const checks = await conformanceChecks(definition, {
    services,
    ...(phases === undefined ? {} : { phases: phasesOf(phases, environment) }),
    ...(turns === undefined ? {} : { turns }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(seed === undefined ? {} : { seed }),
  });
  return { checks, hints: hintsFor(environment) };
}

/** An engine is checked on an untrained model of a few thousand parameters. */
async function checksOfEngine(engine: ConfiguredEngine, folder: string): Promise<readonly Check[]> {
  const model = await makeModel(folder, "model");
  const stop = { token: vocabularySize - words.length, text: words[0] as string };
  const checks = await engineChecks({ open: () => engine.open(), model, folder, stop });
  return [{ name: "it has the capabilities that it announces", run: () => announced(engine) }, ...checks];
}

/** Recipes are checked by what is announced, before an engine is opened. */
async function announced(configured: ConfiguredEngine): Promise<void> {
  const { capabilities } = configured;
  const engine = await configured.open();
  await engine.close();
  const keys = Object.keys({ ...capabilities, ...engine.capabilities }) as (keyof EngineCapabilities)[];
  for (const key of keys) {
    const [said, has] = [capabilities[key], engine.capabilities[key]];
    if (!isDeepStrictEqual(said, has))
      throw new Error(`\`capabilities\` gives ${key}: ${show(said)}, the open engine ${show(has)}`);
  }
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

function hintsFor({ oracle }: Environment): readonly string[] {
  if (oracle?.words !== undefined) return [];
  const reason = "without `oracle.words` there is no tokenizer for an untrained model (`preset`)";
  return [`${reason}: list the words there, or give policies a pretrained model (\`path\`)`];
}

/** As in a recipe, but with seats instead of roles. */
function phasesOf(text: string, { name, seats }: Environment): readonly (readonly string[])[] {
  const given = z.array(z.array(z.string()).min(1)).min(1).safeParse(parsed(text));
  if (!given.success)
    throw new TroupeError("bad_arguments", `--phases: expected such as [[red, blue]], found ${text}`);
  const known = Object.keys(seats);
  const unknown = given.data.flat().find((seat) => !known.includes(seat));
  if (unknown === undefined) return given.data;
  const hint = didYouMean(unknown, known) ?? `its seats are ${known.join(", ")}`;
  throw new TroupeError("bad_arguments", `--phases: ${name} has no seat ${unknown}; ${hint}`);
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

type Subject =
  | { readonly kind: "environment" | "algorithm"; readonly lone: Lone }
  | { readonly kind: "engine"; readonly lone: Extract<Lone, { readonly module: string }> };

async function subjectOf(given: string, exported: string | undefined): Promise<Subject> {
  const { environments, algorithms } = builtInCatalog;
  if (Object.hasOwn(environments, given)) return { kind: "environment", lone: { name: given } };
  if (Object.hasOwn(algorithms, given)) return { kind: "algorithm", lone: { name: given } };
  const module = moduleFile.test(given) ? resolve(given) : given;
  const kind = await kindOfModule(module, exported, process.cwd());
  return { kind, lone: { module, export: exported } };
}

/** Parses `size=6` like an override of a recipe. */
function below(key: string, options: readonly string[]): readonly string[] {
  return options.map((option) => (option.startsWith(`${key}.`) ? option : `${key}.${option}`));
}
