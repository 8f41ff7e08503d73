/** The state of an episode: the problem as the seats see it, and the last program. */
import { z } from "zod";
import type { SeatDescription } from "../environment.ts";
import type { Part, HelperUse, Analysis } from "./analysis/analyse.ts";
import type { TestResult } from "./grading/grade.ts";

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

/** The seats of the environment. */
export type SeatName = "helper" | "main" | "single";

/** The function written by the helper's seat. */
export const helperName = "aux";

const onlyCode = "Reply with Python code alone, in one block that starts with ```python and ends with ```.";

const maxTokens = 512;

export const seatDescriptions: Readonly<Record<SeatName, SeatDescription>> = {
  helper: {
    purpose: `Writes a helper function, ${helperName}, for the main function that another seat writes.`,
    prompt:
      `Two programmers solve a problem in Python together. You write one helper function, \`${helperName}\`, that does a ` +
      `useful part of the work; your partner writes the main function, which calls it. Do not write the main function. ${onlyCode}`,
    maxTokens,
  },
  main: {
    purpose: `Writes the main function, which calls the helper's ${helperName}.`,
    prompt:
      `Two programmers solve a problem in Python together. Your partner writes a helper function, \`${helperName}\`, that ` +
      `does a useful part of the work; you write the main function, which calls \`${helperName}\` and goes beyond it. Do ` +
      `not define \`${helperName}\`. ${onlyCode}`,
    maxTokens,
  },
  single: {
    purpose: "Writes the whole program alone.",
    prompt: `You solve a problem in Python by writing one function. ${onlyCode}`,
    maxTokens,
    alone: "it writes the main function itself",
  },
};

/**
 * The joint reward of a helper and a main coder: the levels, bonuses and deduction of MAGRPO's first code (September
 * 2025), and its single-agent form. Deviations (docs/results/deviations.md) concern what counts as a function, a call or a
 * wrapper, never the numbers.
 */

/** The terms on the published scale; those of a helper only where there is one. */
export interface Terms {
  /** .4: a function `aux` that returns something. It may be missing. */
  readonly helperDefined?: number;
  /** .6: the main function, which returns something. Without it nothing below is earned. */
  readonly mainDefined: number;
  /** .5: both parse. Otherwise nothing below is earned. */
  readonly parses: number;
  /** The share of tests passed. */
  readonly tests: number;
  /** .5: at least one test passes, and the main function calls the helper. Without it nothing below is earned. */
  readonly helperUsed?: number;
  /** 1: the main function does more than return the helper's result. */
  readonly notWrapper?: number;
  /** −.5: no result of the helper is used. */
  readonly resultIgnored?: number;
}

export type TestCounts = {
  readonly passed: number;
  readonly total: number;
};

/** The largest sum of terms, of a team and of a single agent. */
export const largestSum = { team: 4, single: 2.1 } as const;

const nothingAlone: Terms = { mainDefined: 0, parses: 0, tests: 0 };
const nothingTogether: Terms = {
  helperDefined: 0,
  ...nothingAlone,
  helperUsed: 0,
  notWrapper: 0,
  resultIgnored: 0,
};

/** @param tests null: not run, because the program is missing or does not parse */
export function termsOf({ main, helper, use }: Analysis, tests: TestCounts | null): Terms {
  const nothing = helper === null ? nothingAlone : nothingTogether;
  const helped = helper?.defined === true && helper.returns ? { ...nothing, helperDefined: 0.4 } : nothing;
  if (!main.defined || !main.returns) return helped;
  const levels = { ...helped, mainDefined: 0.6 };
  if (!doesParse({ main, helper })) return levels;
  const share = tests === null || tests.total === 0 ? 0 : tests.passed / tests.total;
  const tested = { ...levels, parses: 0.5, tests: share };
  const isUsed = share > 0 && helper?.defined === true && use?.called === true;
  if (!isUsed) return tested;
  return {
    ...tested,
    helperUsed: 0.5,
    notWrapper: use.wrapper ? 0 : 1,
    resultIgnored: use.used ? 0 : -0.5,
  };
}

export function doesParse({ main, helper }: Pick<Analysis, "main" | "helper">): boolean {
  return main.error === null && (helper?.error ?? null) === null;
}

/** In [0, largestSum]: a deduction never exceeds the bonuses it comes with. */
export function sumOf(terms: Terms): number {
  return Object.values(terms).reduce((sum: number, term: number) => sum + term, 0);
}

/** Why the reward is not the largest: the first missing thing. Null: nothing. */
export function reasonOf(
  { main, helper, use }: Analysis,
  tests: TestCounts | null,
  entryPoint: string,
): string | null {
  if (!main.defined) return entryPoint === "" ? "no program found" : `no function ${entryPoint} found`;
  if (!main.returns) return `${entryPoint} returns nothing`;
  const error = main.error ?? helper?.error ?? null;
  if (error !== null) return `syntax error in line ${error.line}: ${error.message}`;
  if (tests === null || tests.total === 0) return "no tests were run";
  if (tests.passed < tests.total) return `${tests.total - tests.passed} of ${tests.total} tests fail`;
  if (helper === null || use === null) return null;
  if (!helper.defined) return `no function ${helperName} found`;
  if (!helper.returns) return `${helperName} returns nothing`;
  if (!use.called) return `${entryPoint} does not call ${helperName}`;
  if (!use.used) return `${entryPoint} ignores what ${helperName} returns`;
  return use.wrapper ? `${entryPoint} only hands on what ${helperName} returns` : null;
}
