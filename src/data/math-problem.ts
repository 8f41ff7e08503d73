/** The common form of problems from all mathematics data sets. */
import { z } from "zod";

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
