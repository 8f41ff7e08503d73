/** Grades a problem's programs and tests by running them in the sandbox. */
import type { CodeProblem, CodeTests } from "../../../data/problem.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { Context } from "../../environment.ts";
import { analyse, type Analysis } from "../analysis/analyse.ts";
import type { TestReport } from "../grading/grade.ts";
import { gradeProblem } from "../grading/problem.ts";
import { sandboxOf } from "../../sandbox-of.ts";
import { generatedTest, testsOf } from "./generated-test.ts";
import type { PairOptions } from "./options.ts";
import type { GeneratedTest } from "./state.ts";

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
