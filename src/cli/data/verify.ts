/**
 * `troupe data verify`: checks files, rows, solutions, and overlap with other data sets. Findings set the exit code.
 */
import { availableParallelism } from "node:os";
import { Command } from "commander";
import { openDataset, type OpenDataset, type OpenOptions } from "../../data/open.ts";
import type { Overlap } from "../../data/overlaps.ts";
import { withPreamble, type CodeProblem } from "../../data/problem.ts";
import { findProblemSet } from "../../data/sets/registered.ts";
import { checkSplit } from "../../data/slices.ts";
import { sourceOf } from "../../data/task-sources.ts";
import {
  hasFindings,
  overlapReport,
  verifySplit,
  type NamedSource,
  type OverlapReport,
  type RunSolution,
  type SplitReport,
} from "../../data/verify.ts";
import { gradeWithPython, type TestReport } from "../../environments/code/grading/grade.ts";
import { comparisons, gradeWithInput } from "../../environments/code/grading/stdin.ts";
import { openProvedSandbox } from "../../environments/proved-sandbox.ts";
import { showCount, showShare, showText } from "../../format.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { exitCodes, listenForStop } from "../exit.ts";
import { printJson, printLines, printNote } from "../print.ts";
import { datasetGiven, withDatasetOptions, type GivenOptions } from "./given.ts";
import { showProgress, type Progress } from "./progress.ts";

interface VerifyArguments extends GivenOptions {
  readonly against: readonly string[];
  readonly run: boolean;
  readonly json?: boolean;
}

export function verifyCommand(): Command {
  return withDatasetOptions(new Command("verify"))
    .description("check a data set's files, rows and solutions, and what it shares with others")
    .argument("[splits...]", "train, test, …; none: all of the configuration")
    .option("--against <dataset:slices...>", "evaluation problems to look for in it: humaneval:test", [])
    .option("--no-run", "do not run the solutions")
    .option("--json", "print one JSON document")
    .action((name: string, splits: string[], options: VerifyArguments) => verify(name, splits, options));
}

async function verify(name: string, given: string[], options: VerifyArguments): Promise<void> {
  using progress = showProgress();
  using stopping = listenForStop(() => printNote("stopping"));
  await using runner = options.run ? await openSolutionRunner() : null;
  const open = { ...progress.options, signal: stopping.stop };
  const dataset = await openDataset(datasetGiven(name, options), open);
  const splits = splitsGiven(dataset, given);
  const reports: SplitReport[] = [];
  for (const split of splits)
    reports.push(
      await verifySplit(dataset, split, verificationOf(runner?.run ?? null, progress, stopping.stop)),
    );
  const overlaps = await overlapsOf(dataset, splits, options, open);
  if (options.json)
    printJson({
      dataset: dataset.name,
      commit: dataset.commit,
      config: dataset.config,
      splits: reports,
      overlaps,
    });
  else
    printLines([...reports.flatMap(splitLines), ...overlaps.flatMap(overlapLines), ...excludeLines(reports)]);
  if (reports.some(hasFindings) || overlaps.some((report) => report.overlaps.length > 0))
    process.exitCode = exitCodes.failure;
}

function splitsGiven(dataset: OpenDataset, given: readonly string[]): readonly string[] {
  const known = Object.keys(dataset.splits);
  for (const split of given) checkSplit(split, known, dataset.name);
  return given.length > 0 ? given : known;
}

function verificationOf(run: RunSolution | null, { ran }: Progress, signal: AbortSignal) {
  return { run, atOnce: availableParallelism(), signal, ran };
}

/** Between the set's own splits, and with the named ones. */
async function overlapsOf(
  dataset: OpenDataset,
  splits: readonly string[],
  { against, form, field }: VerifyArguments,
  open: OpenOptions,
): Promise<OverlapReport[]> {
  const own = await Promise.all(
    splits.map(async (split) => ({
      name: `${dataset.name} ${split}`,
      source: await sourceOf(dataset, split),
    })),
  );
  const rows = { ...(form !== undefined && { form }), ...(field !== undefined && { field }) };
  const others: NamedSource[] = [];
  for (const text of against) others.push(await otherSource(text, rows, open));
  const reports: OverlapReport[] = [];
  for (const [index, train] of own.entries())
    for (const evaluation of [...own.slice(index + 1), ...others])
      reports.push(await overlapReport(train, evaluation));
  return reports;
}

/** Named files have the given form or fields, if there are any. */
async function otherSource(text: string, rows: GivenOptions, open: OpenOptions): Promise<NamedSource> {
  const colon = text.lastIndexOf(":", text.includes("[") ? text.indexOf("[") : undefined);
  const [name, slices] = colon > 0 ? [text.slice(0, colon), text.slice(colon + 1)] : [text, "test"];
  const isKnown = findProblemSet(name) !== undefined;
  const dataset = await openDataset(datasetGiven(name, isKnown ? {} : rows), open);
  return { name: `${dataset.name} ${slices}`, source: await sourceOf(dataset, slices) };
}

/** Most rows of a kind that are listed; the rest is counted. */
const listedRows = 20;

function splitLines(report: SplitReport): string[] {
  const { split, rows, expectedRows, problems, malformed, damagedFiles, solutions } = report;
  const expected =
    expectedRows === null || expectedRows === rows ? "" : `, expected ${showCount(expectedRows)}`;
  const ran = solutions
    ? `, ${showCount(solutions.passed)} solutions pass, ${showCount(solutions.failed.length)} fail, ${showCount(solutions.without)} problems have none`
    : "";
  return [
    `${split}: ${showCount(rows)} rows${expected}, ${showCount(problems)} problems, ${showCount(malformed.length)} malformed${ran}`,
    ...damagedFiles.map((file) => `  damaged: ${file}; delete it and download it again`),
    ...listed(malformed, ({ row, reason }) => `  row ${row} is malformed: ${reason}`),
    ...listed(
      solutions?.failed ?? [],
      ({ row, id, reason }) => `  row ${row} (${showText(id, 60)}) fails its own tests: ${reason}`,
    ),
  ];
}

function listed<T>(all: readonly T[], line: (each: T) => string): string[] {
  const lines = all.slice(0, listedRows).map((each) => showText(line(each), 400).replace(/^/, "  "));
  return all.length > listedRows
    ? [...lines, `  and ${showCount(all.length - listedRows)} more; --json lists all`]
    : lines;
}

function overlapLines({ train, evaluation, problems, overlaps }: OverlapReport): string[] {
  if (overlaps.length === 0) return [`${train} and ${evaluation} share no problem`];
  const same = overlaps.filter(({ isSame }) => isSame).length;
  const head = `${showCount(overlaps.length)} of ${showCount(problems)} problems of ${evaluation} are in ${train}, ${showCount(same)} word for word:`;
  return [head, ...listed(overlaps, overlapLine)];
}

function overlapLine({ train, evaluation, share, isSame }: Overlap): string {
  return isSame
    ? `${evaluation} is ${train}`
    : `${evaluation} is like ${train}: ${showShare(share)} of its words`;
}

/** What happens to failing problems, and a line for recipes that are used on other machines. */
function excludeLines(reports: readonly SplitReport[]): string[] {
  const ids = reports.flatMap(({ solutions }) => solutions?.failed.map(({ id }) => id) ?? []);
  if (ids.length === 0) return [];
  return [
    "",
    `recorded in the cache: from now on, runs skip ${ids.length === 1 ? "the failing problem" : `the ${showCount(ids.length)} failing problems`} and say so`,
    "to leave them out on other machines, too, add to the recipe's dataset:",
    `  exclude: ${JSON.stringify(ids)}`,
  ];
}

export interface SolutionRunner extends AsyncDisposable {
  readonly run: RunSolution;
}

/** For a test without a limit: twice the largest limit of the sets' own graders (LiveCodeBench: 6). */
const usualSeconds = 12;
const mostSeconds = 60;
/** Limits of contests do not include an interpreter. */
const leastMemory = 2 ** 29;

/** @throws TroupeError `no_sandbox` if nothing on this machine can isolate programs */
async function openSolutionRunner(): Promise<SolutionRunner> {
  const sandbox = await openProvedSandbox();
  return {
    run: async (problem, solution, signal) => reasonOf(await grade(sandbox, problem, solution, signal)),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

function grade(
  sandbox: Sandbox,
  problem: CodeProblem,
  solution: string,
  signal: AbortSignal | undefined,
): Promise<TestReport> {
  const { tests, entryPoint, preamble = "", limits } = problem;
  const program = withPreamble(problem, solution);
  const seconds = Math.min(limits?.seconds ?? usualSeconds, mostSeconds);
  if (tests.kind !== "stdin") {
    const request = { program, tests, entryPoint: entryPoint ?? "", preamble, seconds };
    return gradeWithPython(sandbox, request, signal);
  }
  const memoryBytes = Math.max(limits?.memoryBytes ?? 0, leastMemory);
  const comparison = comparisons[problem.comparison ?? "close"];
  const request = { program, cases: tests.cases, seconds, memoryBytes, comparison };
  return gradeWithInput(sandbox, request, signal);
}

/** Why it failed: its first failing test; null: it passed all. */
function reasonOf({ problem, tests }: TestReport): string | null {
  if (problem !== null) return `its tests cannot be run: ${showText(problem, 300)}`;
  if (tests.length === 0) return "it has no tests that can be run";
  const failed = tests.find(({ passed }) => !passed);
  return failed === undefined ? null : showText(`${failed.text}: ${failed.error ?? "failed"}`, 300);
}
