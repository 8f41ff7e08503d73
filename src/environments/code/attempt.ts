/** Turns what the seats wrote into a program, its test results and reward terms. */
import type { Context } from "../environment.ts";
import { analyse, type Analysis, type AnalysedText as Texts } from "./analysis/analyse.ts";
import type { CodeOptions } from "./options.ts";
import { wholeProgram } from "../../text/fences.ts";
import { gradeProblem } from "./grading/problem.ts";
import type { TestReport } from "./grading/grade.ts";
import type { CodeProblem } from "../../data/problem.ts";
import { doesParse, type TestCounts } from "./rewards.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { helperName } from "./seats.ts";
import type { Attempt } from "./state.ts";

export interface AttemptSetting {
  readonly sandbox: Sandbox;
  readonly context: Pick<Context, "signal" | "services">;
  readonly problem: CodeProblem;
  readonly entryPoint: string;
  /** For each call of the program by a test. */
  readonly seconds: number;
  /** Undefined: the data set's own. */
  readonly comparison: CodeOptions["comparison"];
  /** Tests that may be shown: the first n, the last −n; 0 or null: all. */
  readonly slice: number | null;
}

export interface WrittenParts {
  readonly helper?: string;
  readonly main?: string;
  readonly isSingle: boolean;
}

export interface Tried {
  readonly analysis: Analysis;
  readonly tests: TestCounts | null;
  readonly attempt: Attempt;
}

/** @throws ServiceError if the sandbox fails */
export async function tryProgram(setting: AttemptSetting, written: WrittenParts): Promise<Tried> {
  const { sandbox, problem, entryPoint, context } = setting;
  const text = textOf(written, problem, entryPoint);
  const analysis = await analyse(sandbox, text, context);
  const report = isRunnable(analysis) ? await gradeProblem(setting, analysis) : null;
  const tests = report && countsOf(report.tests);
  return { analysis, tests, attempt: attemptOf(analysis, report, setting.slice) };
}

/** A program that reads standard input is complete: nothing is added, and there is no helper. */
function textOf(
  { isSingle, helper = "", main = "" }: WrittenParts,
  problem: CodeProblem,
  entryPoint: string,
): Texts {
  const { prompt } = problem;
  if (problem.entryPoint === null) return { prompt, entryPoint: null, main: wholeProgram(main) };
  const own = { prompt, entryPoint, main };
  return isSingle ? own : { ...own, helper: { name: helperName, text: helper } };
}

function isRunnable(analysis: Analysis): boolean {
  return analysis.main.defined && analysis.main.returns && doesParse(analysis);
}

function countsOf(tests: TestReport["tests"]): TestCounts {
  return { passed: tests.filter(({ passed }) => passed).length, total: tests.length };
}

/** Text kept in a state is bounded. */
const mostFailures = 20;
const longestShown = 300;

function attemptOf(
  { main, helper, use }: Analysis,
  report: TestReport | null,
  slice: number | null,
): Attempt {
  const tests = report?.tests ?? [];
  const shown = sliced(tests, slice);
  const failures = shown.filter(({ passed }) => !passed).slice(0, mostFailures);
  return {
    main,
    helper,
    use,
    tests: report && countsOf(tests),
    shown: countsOf(shown),
    failures: failures.map(({ text, error }) => ({
      text: text.slice(0, longestShown).toWellFormed(),
      passed: false,
      error: (error ?? "").slice(0, longestShown).toWellFormed(),
    })),
    edits: null,
  };
}

/** The first n, the last −n; 0 or null: all (MAGRPO's `sandbox_slice`). */
function sliced<T>(items: readonly T[], slice: number | null): readonly T[] {
  if (slice === null || slice === 0) return items;
  return slice > 0 ? items.slice(0, slice) : items.slice(slice);
}
