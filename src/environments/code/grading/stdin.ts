/** Tests of programs that read standard input and print: each runs the program once. */
import type { PrintedComparison, StdinCase } from "../../../data/problem.ts";
import type { ProgramResult, Sandbox } from "../../../sandbox/sandbox.ts";
import type { TestResult, TestReport } from "./grade.ts";

/**
 * Compares a program's output with the expected one as the graders of the sets do: white space is ignored, and numbers
 * are compared as numbers.
 */
export interface OutputComparison {
  /** Tolerance for numbers. */
  readonly relative: number;
  readonly absolute: number;
  /** Line breaks count, and white space in lines that are not all numbers. */
  readonly byLine: boolean;
  readonly ignoresCase: boolean;
}

export const comparisons = {
  /** As in `numpy.allclose`, which APPS's grader uses. */
  close: { relative: 1e-5, absolute: 1e-8, byLine: false, ignoresCase: false },
  /** As in LiveCodeBench's grader. */
  exact: { relative: 0, absolute: 0, byLine: true, ignoresCase: false },
  /** As in CodeContests' grader. */
  contests: { relative: 0, absolute: 1e-5, byLine: false, ignoresCase: true },
} as const satisfies Readonly<Record<PrintedComparison, OutputComparison>>;

export function isSameOutput(printed: string, expected: string, comparison: OutputComparison): boolean {
  const [left, right] = comparison.byLine
    ? [linesOf(printed), linesOf(expected)]
    : [tokensOf(printed), tokensOf(expected)];
  return areSame(left, right, (one, other) =>
    comparison.byLine ? isSameLine(one, other, comparison) : isSame(one, other, comparison),
  );
}

function areSame<Item>(
  left: readonly Item[],
  right: readonly Item[],
  isEqual: (one: Item, other: Item) => boolean,
): boolean {
  return left.length === right.length && left.every((one, index) => isEqual(one, right[index] as Item));
}

function isSameLine(printed: string, expected: string, comparison: OutputComparison): boolean {
  if (printed === expected) return true;
  const [left, right] = [tokensOf(printed), tokensOf(expected)];
  return areSame(left, right, (one, other) => decimal.test(one) && isSame(one, other, comparison));
}

function linesOf(text: string): readonly string[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim());
}

function tokensOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((token) => token !== "");
}

/** Unambiguous, so that thousands of digits followed by a letter are read in linear time. */
const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function isSame(
  printed: string,
  expected: string,
  { relative, absolute, ignoresCase }: OutputComparison,
): boolean {
  if (printed === expected) return true;
  if (ignoresCase && printed.toLowerCase() === expected.toLowerCase()) return true;
  if (!decimal.test(printed) || !decimal.test(expected)) return false;
  // Integers are compared exactly: 10000001 is not 10000000.
  if (isInteger(printed) && isInteger(expected)) return BigInt(printed) === BigInt(expected);
  return Math.abs(Number(printed) - Number(expected)) <= absolute + relative * Math.abs(Number(expected));
}

function isInteger(token: string): boolean {
  return /^-?\d+$/.test(token);
}

export interface StdinRequest {
  readonly program: string;
  readonly cases: readonly StdinCase[];
  /** Processor time for each run. */
  readonly seconds: number;
  readonly memoryBytes: number | undefined;
  readonly comparison: OutputComparison;
}

/** Runs that reached a limit after which no more are started. */
const mostLosses = 3;
/** Processor time of all runs together; a backend that does not measure it has only the limit of each run. */
const allSeconds = (seconds: number): number => 10 * seconds + 60;
/** Concurrent runs; few, so that little is wasted on a program that never ends. */
const atOnce = 4;
const longestShown = 200;

/** @throws ServiceError if the sandbox fails */
export async function gradeWithInput(
  sandbox: Sandbox,
  request: StdinRequest,
  signal?: AbortSignal,
): Promise<TestReport> {
  const tests: TestResult[] = [];
  let losses = 0;
  let spent = 0;
  for (let from = 0; from < request.cases.length; from += atOnce) {
    const cases = request.cases.slice(from, from + atOnce);
    const enough = whyEnough(losses, spent, request.seconds);
    if (enough !== null) {
      tests.push(...cases.map((one) => failed(one, enough)));
      continue;
    }
    const results = await Promise.all(cases.map((one) => runWith(sandbox, request, one, signal)));
    losses += results.filter(({ ended }) => ended !== "exited").length;
    spent += results.reduce((sum, { cpuSeconds = 0 }) => sum + cpuSeconds, 0);
    tests.push(
      ...results.map((result, index) => reportOn(result, cases[index] as StdinCase, request.comparison)),
    );
  }
  return { tests, problem: null };
}

/** Why no more are started; null: they are. */
function whyEnough(losses: number, spent: number, seconds: number): string | null {
  if (losses >= mostLosses) return `not run: ${mostLosses} runs before took too much time or memory`;
  const all = allSeconds(seconds);
  return spent >= all ? `not run: the runs before took ${all} seconds in all` : null;
}

/** Runs the program on one input. */
function runWith(
  sandbox: Sandbox,
  {
    program,
    seconds,
    memoryBytes,
    cases,
  }: Pick<StdinRequest, "program" | "seconds" | "memoryBytes" | "cases">,
  { input }: StdinCase,
  signal?: AbortSignal,
): Promise<ProgramResult> {
  const longest = Math.max(0, ...cases.map(({ output }) => output.length));
  const limits = {
    cpuSeconds: seconds,
    wallSeconds: 3 * seconds + 5,
    outputBytes: 2 ** 16 + 4 * longest,
    ...(memoryBytes === undefined ? {} : { memoryBytes: Math.min(2 ** 31, Math.max(memoryBytes, 2 ** 27)) }),
  };
  return sandbox.run({ language: "python", source: program, stdin: input, limits }, signal);
}

/** As in the graders of APPS and LiveCodeBench, an exception fails the test whatever was printed before; an exit code does not. */
function reportOn(
  { ended, exitCode, stdout, stderr }: ProgramResult,
  one: StdinCase,
  comparison: OutputComparison,
): TestResult {
  if (ended !== "exited") return failed(one, `ended by its limit: ${ended}`);
  const isRaised = exitCode !== 0 && /^Traceback \(most recent call last\):$/m.test(stderr);
  if (!isRaised && isSameOutput(stdout, one.output, comparison))
    return { text: textOf(one), passed: true, error: null };
  if (exitCode !== 0) return failed(one, shown(stderr.trim().split("\n").at(-1) ?? ""));
  return failed(one, `printed ${JSON.stringify(shown(stdout.trim()))}`);
}

function failed(one: StdinCase, error: string): TestResult {
  return { text: textOf(one), passed: false, error };
}

function textOf({ input, output }: StdinCase): string {
  return `input ${JSON.stringify(shown(input.trim()))}, output ${JSON.stringify(shown(output.trim()))}`;
}

function shown(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text;
}
