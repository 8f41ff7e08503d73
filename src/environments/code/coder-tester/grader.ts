/** Grades a problem's programs and tests by running them in the sandbox. */
import { z } from "zod";
import type { CodeProblem, CodeTests } from "../../../data/problem.ts";
import { TroupeError } from "../../../errors.ts";
import { jsonOrNull } from "../../../json.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { askScript } from "../../../sandbox/scripts.ts";
import type { Context } from "../../environment.ts";
import { sandboxOf } from "../../sandbox-of.ts";
import { longestText, analyse, type Analysis } from "../analysis/analyse.ts";
import type { TestReport } from "../grading/grade.ts";
import { gradeProblem } from "../grading/problem.ts";
import { pythonProgram } from "../python.ts";
import type { GeneratedTest, PairOptions } from "./state.ts";

/** The tester's test as data: it is parsed and rewritten, and never runs as code next to the real tests. */
const reader = pythonProgram("analysis/extract.py", "coder-tester/read_test.py");

const assertion = z.strictObject({
  source: z.string(),
  call: z.strictObject({ arguments: z.string(), accepted: z.array(z.string()) }).nullable(),
});

/** Null: the text has no valid test. */
export async function generatedTest(
  sandbox: Sandbox,
  { entryPoint }: Pick<CodeProblem, "entryPoint">,
  text: string,
  signal?: AbortSignal,
): Promise<GeneratedTest | null> {
  const written = text.slice(0, longestText).toWellFormed();
  if (entryPoint === null) return inputAndOutput(written);
  if (!written.includes("assert")) return null;
  const answer = await askScript(sandbox, reader, JSON.stringify({ text: written, entryPoint }), signal);
  if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled while a test was read.");
  const found = assertion.safeParse(jsonOrNull(answer ?? "null"));
  return found.success ? { kind: "assertion", ...found.data } : null;
}

/** A line with only the label, `**Test Input:**`. */
const labelLine = /^[ \t*#]*(?:test[ \t]+)?(input|output)[ \t*:]*$/i;
const fenceLine = /^[ \t]*(?:```|~~~)/;

/** The last pair of fenced blocks below the words input and output. */
function inputAndOutput(text: string): GeneratedTest | null {
  let input: string | null = null;
  let last: { readonly input: string; readonly output: string } | null = null;
  for (const { label, content } of labelledBlocks(text.split("\n"))) {
    if (input === null) input = label === "input" ? content : null;
    else if (label === "output") {
      last = { input, output: content };
      input = null;
    }
  }
  return last === null || last.output.trim() === "" ? null : { kind: "run", ...last };
}

/** Reads each line once: a model may write thousands of labels and fences. */
function* labelledBlocks(lines: readonly string[]): Generator<{ label: string; content: string }> {
  for (let at = 0; at < lines.length; at++) {
    const label = labelLine.exec(lines[at] ?? "")?.[1]?.toLowerCase();
    if (label === undefined) continue;
    let open = at + 1;
    while (lines[open] === "") open++;
    if (!fenceLine.test(lines[open] ?? "")) continue;
    let close = open + 1;
    while (close < lines.length && !fenceLine.test(lines[close] ?? "")) close++;
    if (close === lines.length) return;
    const content = lines.slice(open + 1, close).map((line) => `${line}\n`);
    yield { label, content: content.join("") };
    at = close;
  }
}

/** In the form of the problem's tests, so that results are compared as in these: a tuple may count as a list. */
export function testsOf(test: GeneratedTest, { tests }: Pick<CodeProblem, "tests">): CodeTests {
  if (test.kind === "assertion" && test.call !== null && tests.kind === "calls")
    return { kind: "calls", entryPoint: tests.entryPoint, cases: [test.call] };
  if (test.kind === "assertion") return { kind: "asserts", setup: "", asserts: [test.source] };
  return { kind: "stdin", cases: [{ input: test.input, output: test.output }] };
}

/** In the form that seats see. */
export function showTest(test: GeneratedTest): string {
  if (test.kind === "assertion") return test.source;
  return `Input:\n${test.input.trimEnd()}\nOutput:\n${test.output.trimEnd()}`;
}

/** A program that defines what the problem asks for. */
export type Runnable = Pick<Analysis, "program" | "preamble">;

export interface Grader {
  /** Null: the text does not define what the problem asks for. */
  readProgram(text: string): Promise<Runnable | null>;
  /** Null: the text has no valid test. */
  readTest(text: string): Promise<GeneratedTest | null>;
  hidden(program: Runnable): Promise<TestReport>;
  onTest(program: Runnable, test: GeneratedTest): Promise<TestReport>;
  /** Whether the reference solution passes the test; null: there is none. */
  passesReference(test: GeneratedTest): Promise<boolean | null>;
}

/** Grades by the problem's tests, and the first of its solutions as the reference. */
export function graderOf(options: PairOptions, problem: CodeProblem, context: Context): Grader {
  const sandbox = sandboxOf(context);
  const setting = { options, problem, sandbox, context };
  const readProgram = (text: string) => runnableOf(setting, text);
  return {
    readProgram,
    readTest: (text) => generatedTest(sandbox, problem, text, context.signal),
    hidden: (program) => reportOn(setting, program, problem.tests),
    onTest: (program, test) => reportOn(setting, program, testsOf(test, problem)),
    async passesReference(test) {
      const [solution] = problem.solutions;
      const reference = solution === undefined ? null : await readProgram(solution);
      return reference === null ? null : isPassed(await reportOn(setting, reference, testsOf(test, problem)));
    },
  };
}

export interface GraderSetting {
  readonly options: Pick<PairOptions, "testSeconds" | "comparison">;
  readonly problem: CodeProblem;
  readonly sandbox: Sandbox;
  readonly context: Context;
}

export async function runnableOf(
  { problem: { prompt, entryPoint }, sandbox, context }: GraderSetting,
  text: string,
): Promise<Runnable | null> {
  const analysis = await analyse(sandbox, { prompt, entryPoint, main: text }, context);
  return analysis.main.defined && analysis.main.error === null ? analysis : null;
}

export function reportOn(setting: GraderSetting, program: Runnable, tests: CodeTests): Promise<TestReport> {
  const { options, problem, sandbox, context } = setting;
  const { testSeconds: seconds, comparison } = options;
  const given = { sandbox, context, entryPoint: problem.entryPoint ?? "", seconds, comparison };
  return gradeProblem({ ...given, problem: { ...problem, tests } }, program);
}

export function isPassed({ tests }: TestReport): boolean {
  return tests.length > 0 && tests.every(({ passed }) => passed);
}
