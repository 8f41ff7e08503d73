/** Runs the solutions of a data set against their tests, in isolation. */
import { withPreamble, type CodeProblem } from "../../data/problem.ts";
import type { RunSolution } from "../../data/verify.ts";
import { gradeWithPython, type TestReport } from "../../environments/code/grading/grade.ts";
import { comparisons, gradeWithInput } from "../../environments/code/grading/stdin.ts";
import { openProvedSandbox } from "../../environments/proved-sandbox.ts";
import { showText } from "../../format.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

export interface SolutionRunner extends AsyncDisposable {
  readonly run: RunSolution;
}

/** For a test without a limit: twice the largest limit of the sets' own graders (LiveCodeBench: 6). */
const usualSeconds = 12;
const mostSeconds = 60;
/** Limits of contests do not include an interpreter. */
const leastMemory = 2 ** 29;

/** @throws TroupeError `no_sandbox` if nothing on this machine can isolate programs */
export async function openSolutionRunner(): Promise<SolutionRunner> {
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
