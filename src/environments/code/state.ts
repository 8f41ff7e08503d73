/** The state of an episode: the problem as the seats see it, and the last program. */
import { z } from "zod";
import type { Part, HelperUse } from "./analysis/analyse.ts";
import type { TestResult } from "./grading/grade.ts";
import type { TestCounts } from "./rewards.ts";

/** A problem by its id; its tests stay in the data set. */
export const codeTaskSchema = z.strictObject({ id: z.string() });

export type CodeTask = z.output<typeof codeTaskSchema>;

export type CodeState = {
  readonly task: CodeTask;
  readonly prompt: string;
  /** Empty: a program that reads standard input. */
  readonly entryPoint: string;
  /** The start of a solution, if that is not the prompt itself. */
  readonly starter: string | null;
  /** A test shown with the problem, if the text is not code; null: none is needed. */
  readonly example: string | null;
  /** What the seats wrote in this turn, truncated. */
  readonly written: { readonly helper?: string; readonly main?: string };
  /** What this turn's actions have earned so far, on the published scale. */
  readonly paid: number;
  readonly attempt: Attempt | null;
  /** The last turn's, where the seats act one after the other and this turn has begun: its results are shown to those who follow. */
  readonly before?: Attempt;
};

/** The expert's versions, by seat; null: it changes nothing. */
export type Edits = {
  readonly helper: string | null;
  readonly main: string | null;
  /** Why what it wrote is no answer; null: it is one. */
  readonly fault: string | null;
};

/** The last program and its results. */
export type Attempt = {
  readonly main: Part;
  readonly helper: Part | null;
  readonly use: HelperUse | null;
  /** Of all tests; null: not run. */
  readonly tests: TestCounts | null;
  /** Of the tests that may be shown. */
  readonly shown: TestCounts;
  /** The first few of them that failed. */
  readonly failures: readonly TestResult[];
  /** Null: no expert was asked. */
  readonly edits: Edits | null;
};
