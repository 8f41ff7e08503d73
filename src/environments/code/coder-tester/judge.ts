/** What decides about programs and tests of a problem: by running them in the sandbox. */
import type { CodeProblem, CodeTests } from "../../../data/problem.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { Context } from "../../environment.ts";
import { analyse, type Analysis } from "../analysis/analyse.ts";
import type { Verdict } from "../grading/grade.ts";
import { gradeProblem } from "../grading/problem.ts";
import { sandboxOf } from "../step.ts";
import { generatedTest, testsOf } from "./generated-test.ts";
import type { PairOptions } from "./options.ts";
import type { GeneratedTest } from "./state.ts";

/** A program that defines what the problem asks for. */
export type Runnable = Pick<Analysis, "program" | "preamble">;

export interface Judge {
  /** Null: the text does not define what the problem asks for. */
  readProgram(text: string): Promise<Runnable | null>;
  /** Null: the text has no valid test. */
  readTest(text: string): Promise<GeneratedTest | null>;
  hidden(program: Runnable): Promise<Verdict>;
  onTest(program: Runnable, test: GeneratedTest): Promise<Verdict>;
  /** Whether the reference solution passes the test; null: there is none. */
  passesReference(test: GeneratedTest): Promise<boolean | null>;
}

/** Judges by the problem's tests, and the first of its solutions as the reference. */
export function judgeOf(options: PairOptions, problem: CodeProblem, context: Context): Judge {
  const sandbox = sandboxOf(context);
  const setting = { options, problem, sandbox, context };
  const readProgram = (text: string) => runnableOf(setting, text);
  return {
    readProgram,
    readTest: (text) => generatedTest(sandbox, problem, text, context.signal),
    hidden: (program) => verdictOn(setting, program, problem.tests),
    onTest: (program, test) => verdictOn(setting, program, testsOf(test, problem)),
    async passesReference(test) {
      const [solution] = problem.solutions;
      const reference = solution === undefined ? null : await readProgram(solution);
      return reference === null
        ? null
        : isPassed(await verdictOn(setting, reference, testsOf(test, problem)));
    },
  };
}

export interface JudgeSetting {
  readonly options: Pick<PairOptions, "testSeconds" | "comparison">;
  readonly problem: CodeProblem;
  readonly sandbox: Sandbox;
  readonly context: Context;
}

export async function runnableOf(
  { problem: { prompt, entryPoint }, sandbox, context }: JudgeSetting,
  text: string,
): Promise<Runnable | null> {
  const analysis = await analyse(sandbox, { prompt, entryPoint, main: text }, context);
  return analysis.main.defined && analysis.main.error === null ? analysis : null;
}

export function verdictOn(setting: JudgeSetting, program: Runnable, tests: CodeTests): Promise<Verdict> {
  const { options, problem, sandbox, context } = setting;
  const { testSeconds: seconds, comparison } = options;
  const given = { sandbox, context, entryPoint: problem.entryPoint ?? "", seconds, comparison };
  return gradeProblem({ ...given, problem: { ...problem, tests } }, program);
}

export function isPassed({ tests }: Verdict): boolean {
  return tests.length > 0 && tests.every(({ passed }) => passed);
}
