/**
 * Grades programs and cases. A program runs once in the sandbox, on the inputs of all tests and all cases, and what it
 * returns is compared here: most programs of an episode are those of others, and their results are recorded.
 */
import type { CodeProblem } from "../../data/problem.ts";
import { runnableOf, reportOn, type Grader, type Runnable } from "../code/coder-tester/grader.ts";
import type { GeneratedTest } from "../code/coder-tester/state.ts";
import type { TestResult, TestReport } from "../code/grading/grade.ts";
import { codeOptions } from "../code/options.ts";
import type { Context } from "../environment.ts";
import type { ListAnswer } from "../list-programs/operations.ts";
import { answer, inputs } from "../list-programs/task.ts";
import { sandboxOf } from "../sandbox-of.ts";
import { caseNumbers, caseOf, isTelling, programOf, spaced, type Task } from "./task.ts";

export interface CaseGraderOptions {
  /** Only a case that tells something about the coder's number is valid. */
  readonly telling: boolean;
}

const options = codeOptions.parse({});
/** The inputs of programs. No program returns the value expected here, so the report contains what it returned. */
const calls = [...inputs, ...caseNumbers.map((number) => [number])];
const asked: CodeProblem = {
  id: "list-cases",
  prompt: "list-cases",
  entryPoint: "solve",
  tests: {
    kind: "asserts",
    setup: "",
    asserts: calls.map((xs) => `assert solve(${JSON.stringify(xs)}) == None`),
  },
  solutions: [],
};

export function caseGrader({ telling }: CaseGraderOptions, task: Task, context: Context): Grader {
  const setting = { options, problem: asked, sandbox: sandboxOf(context), context };
  const results = async (program: Runnable): Promise<readonly TestResult[]> =>
    (await reportOn(setting, program, asked.tests)).tests;
  return {
    readProgram: (text) => runnableOf(setting, text),
    readTest: async (text) => testOf(readCase(text.slice(0, longestCase)), telling ? task : null),
    hidden: async (program) => hiddenReport(task, await results(program)),
    onTest: async (program, test) => caseReport(test, await results(program)),
    passesReference: async (test) => isTrue(task, caseIn(test)),
  };
}

const longestCase = 400;

/** @param task null: a case need not tell anything */
function testOf(found: ListCase | null, task: Task | null): GeneratedTest | null {
  if (found === null || (task !== null && !isTelling(task, found.number))) return null;
  return { kind: "assertion", source: caseOf(found.number, found.result), call: null };
}

function isTrue(task: Task, found: ListCase | null): boolean {
  return found !== null && isSame(found.result, answer(task, [found.number]));
}

function hiddenReport(task: Task, results: readonly TestResult[]): TestReport {
  return { tests: inputs.map((xs, index) => checked(results[index], answer(task, xs))), problem: null };
}

function caseReport(test: GeneratedTest, results: readonly TestResult[]): TestReport {
  const found = caseIn(test);
  if (found === null) return { tests: [], problem: "no case" };
  const index = inputs.length + caseNumbers.indexOf(found.number);
  return { tests: [checked(results[index], found.result)], problem: null };
}

function checked(result: TestResult | undefined, expected: ListAnswer): TestResult {
  const { text = "", error = "no result" } = result ?? {};
  const returned = returnedBy(error ?? "");
  if (returned !== undefined && isSame(returned, expected)) return { text, passed: true, error: null };
  return { text, passed: false, error: returned === undefined ? error : `got ${spaced(returned)}` };
}

/** Undefined: neither a plain list nor a number. */
function returnedBy(error: string): unknown {
  try {
    return error.startsWith("got ") ? (JSON.parse(error.slice(4)) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** For `render` and the state: the task as a problem of `coder-tester`. */
export function problemOf(task: Task, statement: string): CodeProblem {
  return { ...asked, id: statement, prompt: statement, solutions: [programOf(task)] };
}

export interface ListCase {
  readonly number: number;
  readonly result: ListAnswer;
}

const written = /^\s*assert\s+solve\s*\(\s*\[\s*(\d+)\s*\]\s*\)\s*==\s*(-?\d+|\[[-\d\s,]*\])\s*$/;

/** Null: the text is not a case. */
export function readCase(text: string): ListCase | null {
  const [, number = "", result = ""] = written.exec(text) ?? [];
  if (!caseNumbers.includes(Number(number)) || String(Number(number)) !== number) return null;
  try {
    return { number: Number(number), result: JSON.parse(result) as ListAnswer };
  } catch {
    return null;
  }
}

export function caseIn(test: GeneratedTest): ListCase | null {
  return test.kind === "assertion" ? readCase(test.source) : null;
}
