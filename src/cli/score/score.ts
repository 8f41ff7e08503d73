/** `troupe score`: rewards of existing actions, without a model. */
import { open, stat } from "node:fs/promises";
import { Command } from "commander";
import { command } from "../../command-line.ts";
import type { Services, Environment } from "../../environments/environment.ts";
import { scoreActions, type Scored, type ScoreSetting } from "../../environments/score.ts";
import { TroupeError } from "../../errors.ts";
import { showShare } from "../../format.ts";
import { thrown } from "../../recipes/modules/import-errors.ts";
import { scheduleOf } from "../../teams/acting.ts";
import { buildTeam } from "../../teams/build.ts";
import type { Team } from "../../teams/team.ts";
import { withServices } from "../../train/services.ts";
import { wholeNumber, recipeOrEnvironment, withOverrideOption, type OverrideOptions } from "../arguments.ts";
import { exitCodes } from "../exit.ts";
import { printJsonLine, printNote } from "../print.ts";
import { inOrder, readInput } from "./input.ts";

interface ScoreArguments extends OverrideOptions {
  readonly jobs: number;
  readonly json?: boolean;
}

/** In bytes. */
const longestLine = 16 * 1024 * 1024;

export function scoreCommand(): Command {
  return withOverrideOption(new Command("score"))
    .description("compute the rewards of actions in a file, without a model")
    .argument("<recipe-or-environment>", "the rules")
    .argument("<file>", "JSON lines with a task and actions; - for standard input")
    .argument("[key.path=value...]", "changes to the recipe, `environment.size=9`")
    .option("--jobs <number>", "lines scored at once", wholeNumber(1), 16)
    .option("--json", "no summary on standard error")
    .action(async (given: string, file: string, overrides: string[], options: ScoreArguments) => {
      rejectSwapped(given, file);
      const { environment, recipe } = await recipeOrEnvironment(given, overrides, options);
      const team = recipe && buildTeam(recipe.team, environment);
      const scoring = { environment, ...(team && ofTeam(team)) };
      const totals = { lines: 0, failed: 0, successes: 0 };
      const lines = readLines(await inputOf(file), longestLine);
      await withServices(async (services) => {
        const score = (line: Line): Promise<Scored | Failed> => scoreLine({ ...scoring, services }, line);
        for await (const result of inOrder(lines, options.jobs, score)) {
          totals.lines++;
          if ("error" in result) totals.failed++;
          else if (result.outcome.success) totals.successes++;
          // Waits for a slow reader, so that unread results are not computed either.
          await printJsonLine(result);
        }
      });
      if (options.json !== true) printNote(summary(totals));
      if (totals.failed > 0) process.exitCode = exitCodes.failure;
    });
}

function ofTeam(team: Team): Pick<Scoring, "phases" | "toolsOf" | "callers"> {
  const { phases, toolsOf } = scheduleOf(team);
  const callers = team.roles.filter(({ tools }) => tools !== undefined).map(({ seat }) => seat);
  return { phases, toolsOf, callers: new Set(callers) };
}

function rejectSwapped(given: string, file: string): void {
  if (given !== "-" && !/\.jsonl?$/.test(given)) return;
  const fix = `\`${command("score", file, given)}\``;
  throw new TroupeError("bad_arguments", `give the recipe or environment first, then the file: ${fix}`);
}

interface Scoring extends Pick<ScoreSetting, "phases" | "toolsOf"> {
  readonly environment: Environment;
  readonly services: Services;
  /** Seats whose role has tools. */
  readonly callers?: ReadonlySet<string>;
}

interface Failed {
  readonly error: string;
  readonly line: number;
}

/** An error in a line, or in the environment on that line, does not affect other lines. */
async function scoreLine(scoring: Scoring, line: Line): Promise<Scored | Failed> {
  const { environment, callers = new Set(), ...setting } = scoring;
  try {
    if (line.text === null) throw new TroupeError("bad_arguments", line.problem ?? "unreadable");
    const { task, actions, key } = await readInput(environment, line.text, callers);
    return await scoreActions(environment, task, actions, { key, ...setting });
  } catch (error) {
    const problem =
      error instanceof TroupeError
        ? error.message
        : `${environment.name} threw ${thrown(error)} on this task or these actions`;
    return { error: `line ${line.number}: ${problem}`, line: line.number };
  }
}

/** @throws TroupeError `bad_arguments` if the file cannot be read */
async function inputOf(file: string): Promise<AsyncIterable<Uint8Array>> {
  if (file === "-") return process.stdin;
  try {
    if ((await stat(file)).isDirectory()) throw new Error("it is a folder");
    return (await open(file)).createReadStream();
  } catch (cause) {
    throw new TroupeError("bad_arguments", `cannot read ${file}: ${(cause as Error).message}`, { cause });
  }
}

function summary({ lines, failed, successes }: { lines: number; failed: number; successes: number }): string {
  const scored = lines - failed;
  const success = scored === 0 ? "" : `, ${successes} of them successful (${showShare(successes / scored)})`;
  return `${scored} of ${lines} lines scored${success}${failed === 0 ? "" : `; ${failed} could not be`}`;
}

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; null: unreadable, and `problem` says why. */
  readonly text: string | null;
  readonly problem?: string;
}

/** Skips empty lines, but counts them. A line longer than `longest` bytes, or not UTF-8, is reported and skipped. */
export async function* readLines(input: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<Line> {
  let number = 0;
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > longest) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const finish = (): Line => {
    number += 1;
    const line: Line =
      length > longest
        ? { number, text: null, problem: `the line is longer than ${longest} bytes` }
        : { number, ...decoded(parts) };
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      const line = finish();
      if (line.text?.trim() !== "") yield line;
    }
    add(chunk.subarray(from));
  }
  const line = finish();
  if (line.text?.trim() !== "") yield line;
}

const newline = "\n".charCodeAt(0);

function decoded(parts: readonly Uint8Array[]): Pick<Line, "text" | "problem"> {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts)) };
  } catch {
    return { text: null, problem: "the line is not UTF-8" };
  }
}
