/** The common form of the problems of all data sets. Those of a set are all of programming, or all of mathematics. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";

/** A problem to be solved by a program, and its tests. All of it is JSON. */
export interface CodeProblem {
  /** Unique in its data set: `HumanEval/0`, `mbpp/601`. */
  readonly id: string;
  /** The task in the set's own words; in HumanEval, code that ends in a docstring. */
  readonly prompt: string;
  /** The function called by the tests; null: the program reads standard input and prints. */
  readonly entryPoint: string | null;
  /** All tests that the set's own grader runs. */
  readonly tests: CodeTests;
  /** The tests shown to the solver; a subset of `tests`, if there are any. */
  readonly shownTests?: CodeTests;
  /** Whole programs that the set claims to be correct, best first; may be empty. */
  readonly solutions: readonly string[];
  /** Imports and helpers that a solution may rely on: in the prompt before the entry point, or added by the set's own grader. */
  readonly preamble?: string;
  /** Code that a solution must start with or fill in: a signature, or a class. */
  readonly starter?: string;
  readonly limits?: CodeLimits;
  /** How the set's own grader compares what programs print; absent: close. */
  readonly comparison?: PrintedComparison;
  /** In the set's own words. */
  readonly difficulty?: string;
}

export const printedComparisons = ["close", "exact", "contests"] as const;
export type PrintedComparison = (typeof printedComparisons)[number];

export interface CodeLimits {
  /** For one test. */
  readonly seconds?: number;
  readonly memoryBytes?: number;
}

/** Code in `tests` is as untrusted as a model's: it comes from the network. */
export type CodeTests =
  /** Python that defines `check(candidate)`, to be called with the entry point. */
  | { readonly kind: "python-check"; readonly source: string }
  /** Python statements that call the entry point by name; `setup` runs first. */
  | { readonly kind: "asserts"; readonly setup: string; readonly asserts: readonly string[] }
  /** Standard input, and the expected output. */
  | { readonly kind: "stdin"; readonly cases: readonly StdinCase[] }
  /** Calls of the entry point: a function, or a method of the program's class `Solution`. */
  | { readonly kind: "calls"; readonly entryPoint: string; readonly cases: readonly CallCase[] };

export interface StdinCase {
  readonly input: string;
  readonly output: string;
}

/**
 * A call as JSON texts, not values: JavaScript's numbers would lose the digits of large integers and the difference
 * between 1 and 1.0. Keys of objects are strings even if the program expects integers.
 */
export interface CallCase {
  /** An array as text: the positional arguments. */
  readonly arguments: string;
  /** The correct results as texts: any one of them is accepted. */
  readonly accepted: readonly string[];
}

const stdinCase = z.strictObject({ input: z.string(), output: z.string() });
const callCase = z.strictObject({ arguments: z.string(), accepted: z.array(z.string()).min(1) });

const codeTestsSchema: z.ZodType<CodeTests> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("python-check"), source: z.string().min(1) }),
  z.strictObject({ kind: z.literal("asserts"), setup: z.string(), asserts: z.array(z.string()).min(1) }),
  z.strictObject({ kind: z.literal("stdin"), cases: z.array(stdinCase).min(1) }),
  z.strictObject({
    kind: z.literal("calls"),
    entryPoint: z.string().min(1),
    cases: z.array(callCase).min(1),
  }),
]);

/** A sandbox and a timer must be able to enforce them. */
const limits = z.strictObject({
  seconds: z.number().min(0.01).max(3600).optional(),
  memoryBytes: z.number().int().positive().optional(),
});

/** Python's identifiers, as far as the sets use them. */
export const identifier = z.string().regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, "expected the name of a function");

export const codeProblemSchema: z.ZodType<CodeProblem> = z.strictObject({
  id: z.string().min(1),
  prompt: z.string().refine((text) => text.trim() !== "", "expected a text"),
  entryPoint: identifier.nullable(),
  tests: codeTestsSchema,
  shownTests: codeTestsSchema.optional(),
  solutions: z.array(z.string()),
  preamble: z.string().optional(),
  starter: z.string().optional(),
  limits: limits.optional(),
  comparison: z.enum(printedComparisons).optional(),
  difficulty: z.string().optional(),
}) as z.ZodType<CodeProblem>;

/** A program after the preamble that it relies on, unless the preamble is part of the prompt and so of the program. */
export function withPreamble({ prompt, preamble = "" }: CodeProblem, program: string): string {
  const isThere = preamble === "" || prompt.includes(preamble) || /^from __future__ /m.test(program);
  return isThere ? program : `${preamble}\n\n${program}`;
}

/** The number of tests; of `python-check`, the number of statements that look like one. */
export function testCount(tests: CodeTests): number {
  if (tests.kind === "asserts") return tests.asserts.length;
  if (tests.kind === "python-check") return tests.source.match(/^\s*assert\b/gm)?.length ?? 0;
  return tests.cases.length;
}

// --- Mathematics ---

/** A problem with a final answer. All of it is JSON. */
export interface MathProblem {
  /** Unique in its data set: `math-500/algebra/1072`. */
  readonly id: string;
  readonly prompt: string;
  /** The correct final answers, as the set writes them, usually in LaTeX: any one of them is accepted. */
  readonly answers: readonly string[];
  /** In the set's own words. */
  readonly difficulty?: string;
  readonly subject?: string;
}

const text = z.string().refine((value) => value.trim() !== "", "expected a text");

export const mathProblemSchema: z.ZodType<MathProblem> = z.strictObject({
  id: z.string().min(1),
  prompt: text,
  answers: z.array(text).min(1),
  difficulty: z.string().optional(),
  subject: z.string().optional(),
}) as z.ZodType<MathProblem>;

// --- Either ---

export type AnyProblem = CodeProblem | MathProblem;

export function isMathProblem(problem: AnyProblem): problem is MathProblem {
  return "answers" in problem;
}

/** @throws ZodError */
export function checkedProblem(value: unknown): AnyProblem {
  const isMath = typeof value === "object" && value !== null && "answers" in value;
  return isMath ? mathProblemSchema.parse(value) : codeProblemSchema.parse(value);
}

/** @throws TroupeError `bad_arguments` if it is a mathematics problem */
export function codeProblem(problem: AnyProblem): CodeProblem {
  if (!isMathProblem(problem)) return problem;
  throw otherKind(problem, "has a final answer and no tests", "math");
}

/** @throws TroupeError `bad_arguments` if it is a programming problem */
export function mathProblem(problem: AnyProblem): MathProblem {
  if (isMathProblem(problem)) return problem;
  throw otherKind(problem, "has tests and no final answer", "code");
}

function otherKind({ id }: AnyProblem, what: string, environment: string): TroupeError {
  const fix = `use a data set of the other kind, or the environment ${environment}`;
  return new TroupeError("bad_arguments", `dataset: the problem ${showText(id, 80)} ${what}; ${fix}`);
}
