/** Problems of programming or mathematics: a data set has one kind. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import { codeProblemSchema, type CodeProblem } from "./problem.ts";

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
