/** `troupe check MODULE`: what every environment or algorithm must pass, for one of your own. */
import { resolve } from "node:path";
import { Command } from "commander";
import { algorithmChecks } from "../credit/checks/checks.ts";
import { conformanceChecks } from "../environments/conformance.ts";
import { builtInCatalog } from "../recipes/built-in.ts";
import type { Lone } from "../recipes/lone.ts";
import { loneAlgorithm, loneEnvironment } from "../recipes/lone.ts";
import { RecipeError } from "../recipes/mistakes.ts";
import { kindOfModule } from "../recipes/modules/kind-of.ts";
import { ModuleError } from "../recipes/modules/load-module.ts";
import { exitCodes } from "./exit.ts";
import { wholeNumber } from "./numbers.ts";
import { printJson, printLines } from "./print.ts";
import { moduleFile } from "./recipe-arguments.ts";

interface CheckArguments {
  readonly export?: string;
  readonly turns?: number;
  readonly tasks?: number;
  readonly seed?: number;
  readonly json?: boolean;
}

export function checkCommand(): Command {
  return new Command("check")
    .description("check an environment or an algorithm of your own")
    .argument("<module>", "a file, an installed package, or the name of one that comes with Troupe")
    .argument("[key=value...]", "its options, `size=6`")
    .option("--export <name>", "what the module exports it as (default: its default export)")
    .option("--turns <number>", "of an environment: turns that are played (default: 4)", wholeNumber(1))
    .option("--tasks <number>", "of an environment: tasks of each split (default: 200)", wholeNumber(1))
    .option("--seed <number>", "of everything random (default: 1)", wholeNumber(0))
    .option("--json", "print one JSON document")
    .action(check);
}

interface Check {
  readonly name: string;
  readonly run: () => Promise<void> | void;
}

interface Result {
  readonly name: string;
  readonly passed: boolean;
  /** Why it did not. */
  readonly reason?: string;
}

async function check(given: string, options: readonly string[], how: CheckArguments): Promise<void> {
  const results: Result[] = [];
  const note = (result: Result): void => {
    results.push(result);
    if (how.json !== true) printLines([line(result)]);
  };
  for (const each of await checksOf(given, options, how, note)) note(await resultOf(each));
  const failed = results.filter(({ passed }) => !passed).length;
  if (how.json) printJson({ module: given, passed: failed === 0, checks: results });
  else
    printLines(["", failed === 0 ? `all ${results.length} passed` : `${failed} of ${results.length} failed`]);
  if (failed > 0) process.exitCode = exitCodes.failure;
}

/** None where there is nothing to check; the result says why. */
async function checksOf(
  given: string,
  options: readonly string[],
  how: CheckArguments,
  note: (result: Result) => void,
): Promise<readonly Check[]> {
  const name = "it can be loaded and made with its options";
  try {
    const checks = await load(given, options, how);
    note({ name, passed: true });
    return checks;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    note({ name, passed: false, reason });
    return [];
  }
}

async function load(
  given: string,
  options: readonly string[],
  { export: exported, turns, tasks, seed }: CheckArguments,
): Promise<readonly Check[]> {
  const { kind, lone } = await subjectOf(given, exported);
  const overrides = below(kind, options);
  if (kind === "algorithm") return algorithmChecks(await loneAlgorithm(lone, overrides), seed);
  const environment = await loneEnvironment(lone, overrides);
  const definition = {
    name: environment.name,
    summary: "",
    options: { parse: () => ({}) },
    create: () => environment,
  };
  return conformanceChecks(definition, {
    ...(turns === undefined ? {} : { turns }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(seed === undefined ? {} : { seed }),
  });
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

/** `size=6` as a recipe's override. */
function below(key: string, options: readonly string[]): readonly string[] {
  return options.map((option) => (option.startsWith(`${key}.`) ? option : `${key}.${option}`));
}

/** undefined: not what the user did. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof ModuleError) return sentence(error.message, error.fix);
  if (!(error instanceof RecipeError)) return undefined;
  return error.mistakes.map(({ key, problem, fix }) => sentence(`${key}: ${problem}`, fix)).join("; ");
}

function sentence(problem: string, fix: string | undefined): string {
  return fix === undefined ? problem : `${problem}; ${fix}`;
}

async function resultOf({ name, run }: Check): Promise<Result> {
  try {
    await run();
    return { name, passed: true };
  } catch (error) {
    return { name, passed: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

function line({ name, passed, reason }: Result): string {
  return passed ? `✓ ${name}` : `✗ ${name}\n    ${(reason ?? "").replaceAll("\n", "\n    ")}`;
}
