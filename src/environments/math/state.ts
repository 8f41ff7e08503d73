/** The state of an episode: the problem as the team sees it, and what its members have said. */
import { z } from "zod";
import type { Printed } from "../programs/run.ts";

/** A problem by its id; its answers stay in the data set. */
export const mathTaskSchema = z.strictObject({ id: z.string() });

export type MathTask = z.output<typeof mathTaskSchema>;

export type MathState = {
  readonly task: MathTask;
  readonly prompt: string;
  /** Counted from 0. */
  readonly round: number;
  /** The next phase of this round, counted from 0. */
  readonly phase: number;
  /** Of this round and of those remembered, in order. */
  readonly said: readonly Said[];
  /** Null: none yet. */
  readonly answer: GivenAnswer | null;
  readonly done: boolean;
};

/** An action. */
export type Said = {
  readonly seat: string;
  readonly round: number;
  /** Without thinking, truncated. */
  readonly text: string;
  /** Kept only if other seats see it; otherwise empty. */
  readonly thinking: string;
  /** Of the programs in it, in order. */
  readonly ran: readonly Ran[];
} & GivenAnswer;

export type GivenAnswer = {
  /** Null: no answer was found. */
  readonly answer: string | null;
  readonly isCorrect: boolean;
};

export type Ran = { readonly source: string; readonly printed: Printed };
