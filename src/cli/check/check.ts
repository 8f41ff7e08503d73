/** `troupe check MODULE`: runs the conformance kit on your own environment or algorithm. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import type { Services } from "../../environments/environment.ts";
import { RecipeError } from "../../recipes/mistakes.ts";
import { userFrame } from "../../recipes/modules/import-errors.ts";
import { ModuleError } from "../../recipes/modules/load-module.ts";
import { withServices } from "../../train/services.ts";
import { wholeNumber } from "../arguments.ts";
import { exitCodes } from "../exit.ts";
import { printJson, printLines } from "../print.ts";
import { load, type Check, type CheckedModule, type CheckOptions, type Lent } from "./load.ts";

interface CheckArguments extends CheckOptions {
  readonly json?: boolean;
}

export function checkCommand(): Command {
  return new Command("check")
    .description("test an environment, algorithm or engine module")
    .argument("<module>", "a file, an installed package, or the name of an included one")
    .argument("[key=value...]", "its options, `size=6`")
    .option("--export <name>", "export of the module (default: its default export)")
    .option(
      "--phases <phases>",
      "environments: seats that act simultaneously, `[[red, blue]]` (default: one after another)",
    )
    .option("--turns <number>", "environments: turns per episode (default: 4)", wholeNumber(1))
    .option("--tasks <number>", "environments: tasks per split (default: 200)", wholeNumber(1))
    .option("--seed <number>", "random seed (default: 1)", wholeNumber(0))
    .option("--json", "print one JSON document")
    .action((given: string, options: string[], how: CheckArguments) =>
      withServices((services) => check(given, options, how, services)),
    );
}

interface Result {
  readonly name: string;
  readonly passed: boolean;
  /** Why it failed. */
  readonly reason?: string;
}

async function check(
  given: string,
  options: readonly string[],
  how: CheckArguments,
  services: Services,
): Promise<void> {
  const results: Result[] = [];
  const note = (result: Result): void => {
    results.push(result);
    if (how.json !== true) printLines([line(result)]);
  };
  await using folder = await scratchFolder();
  const { checks, hints } = await loaded(given, options, how, { services, folder: folder.path }, note);
  for (const each of checks) note(await resultOf(each));
  const failed = results.filter(({ passed }) => !passed).length;
  if (how.json) printJson({ module: given, passed: failed === 0, checks: results, hints });
  else {
    const total = failed === 0 ? `all ${results.length} passed` : `${failed} of ${results.length} failed`;
    printLines(["", total, ...hints.map((hint) => `hint: ${hint}`)]);
  }
  if (failed > 0) process.exitCode = exitCodes.failure;
}

/** A folder for the models and saves of checked engines, removed when it is disposed. */
async function scratchFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "troupe-check-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Empty if there is nothing to check; the result says why. */
async function loaded(
  given: string,
  options: readonly string[],
  how: CheckArguments,
  lent: Lent,
  note: (result: Result) => void,
): Promise<CheckedModule> {
  const name = "it loads and accepts its options";
  try {
    const found = await load(given, options, how, lent);
    note({ name, passed: true });
    return found;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    note({ name, passed: false, reason });
    return { checks: [], hints: [] };
  }
}

/** undefined: not the user's mistake. */
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
    return { name, passed: false, reason: failureOf(error) };
  }
}

/** What a check found, or what the module threw and where. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const place = userFrame(error) ?? (cause instanceof Error ? userFrame(cause) : undefined);
  return place === undefined ? message : `${message} (${place})`;
}

function line({ name, passed, reason }: Result): string {
  return passed ? `✓ ${name}` : `✗ ${name}\n    ${(reason ?? "").replaceAll("\n", "\n    ")}`;
}
