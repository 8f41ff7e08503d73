/** Loads what `troupe check` is given, a module or the name of an included definition, and returns its checks. */
import { resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { algorithmChecks } from "../../credit/checks/checks.ts";
import { conformanceChecks } from "../../environments/conformance.ts";
import type { Environment, Services } from "../../environments/environment.ts";
import { TroupeError } from "../../errors.ts";
import { didYouMean } from "../../nearest.ts";
import { builtInCatalog } from "../../recipes/catalog.ts";
import { kindOfModule } from "../../recipes/modules/exported.ts";
import { loneAlgorithm, loneEnvironment, type Lone } from "../../recipes/parts.ts";
import { moduleFile } from "../recipe-arguments.ts";

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

/** @throws RecipeError, ModuleError, TroupeError `bad_arguments` if the phases do not fit the environment */
export async function load(
  given: string,
  options: readonly string[],
  { export: exported, phases, turns, tasks, seed }: CheckOptions,
  services: Services,
): Promise<CheckedModule> {
  const { kind, lone } = await subjectOf(given, exported);
  const overrides = below(kind, options);
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

interface Subject {
  readonly kind: "environment" | "algorithm";
  readonly lone: Lone;
}

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
