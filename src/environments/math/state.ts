/** The state of an episode: the problem as the seat sees it, and the last solution. */
import { z } from "zod";

/** A problem by its id; its answers stay in the data set. */
export const mathTaskSchema = z.strictObject({ id: z.string() });

export type MathTask = z.output<typeof mathTaskSchema>;

export type MathState = {
  readonly task: MathTask;
  readonly prompt: string;
  /** Null: none yet. */
  readonly solution: Solution | null;
};

export type Solution = {
  /** What the reasoner wrote, truncated. */
  readonly text: string;
  /** Null: no answer was found. */
  readonly answer: string | null;
  readonly isCorrect: boolean;
};
