/** The state of an episode of a coder and a tester. */
import { z } from "zod";
import type { ActionReward } from "../../environment.ts";
import type { TestResult, TestReport } from "../grading/grade.ts";
import { codeOptions } from "../options.ts";
import type { TestCounts, CodeTask } from "../state.ts";

/** A model's test: a run of the program, or an assertion that consists of literals. */
export type GeneratedTest =
  | { readonly kind: "run"; readonly input: string; readonly output: string }
  | {
      readonly kind: "assertion";
      readonly source: string;
      /** The same as a call; null: JSON does not have its values. */
      readonly call: { readonly arguments: string; readonly accepted: readonly string[] } | null;
    };

export type PairState = {
  readonly task: CodeTask;
  readonly prompt: string;
  /** Empty: a program that reads standard input. */
  readonly entryPoint: string;
  readonly starter: string | null;
  readonly example: string | null;
  /** The last program as written; null: none yet. */
  readonly program: string | null;
  /** The last test; null: none yet, or an invalid one. */
  readonly test: GeneratedTest | null;
  /** The result of the last program on the last test; null: not run, or they agree. */
  readonly mismatch: string | null;
  /** Of the hidden tests; null: no program was tried. */
  readonly hidden: TestCounts | null;
  /** Program and test agree. */
  readonly done: boolean;
};

/** The options of `coder-tester` in a recipe. */
const { dataset, splits, comparison, testSeconds } = codeOptions.shape;

export const pairOptions = z.strictObject({ dataset, splits, comparison, testSeconds });

export type PairOptions = z.output<typeof pairOptions>;

/**
 * Rewards of a coder and a tester (AT-GRPO, arXiv 2510.11062, appendix C.1). The tester earns only for its test.
 * Deviations: docs/results/deviations.md.
 */

/** @param report of all hidden tests; null: there is no program */
export function coderReward(report: TestReport | null): ActionReward {
  if (report === null) return { team: 0, local: 0, parts: {}, reason: "no program found" };
  const { tests } = report;
  const share = tests.length === 0 ? 0 : tests.filter(({ passed }) => passed).length / tests.length;
  const ran = tests.length > 0 && tests.every(hasResult) ? 1 : 0;
  const parts = { build: 0.1, run: 0.1 * ran, tests: 0.8 * share };
  const reward = { team: share, local: parts.build + parts.run + parts.tests, parts };
  const failing = tests.filter(({ passed }) => !passed).length;
  return failing === 0 ? reward : { ...reward, reason: `${failing} of ${tests.length} tests fail` };
}

/** Whether it gave a result, right or wrong: no exception, no limit reached. */
function hasResult({ passed, error }: TestResult): boolean {
  return passed || /^(got |printed |the assertion does not hold$)/.test(error ?? "");
}

/**
 * @param reference whether the reference solution passes the test; null: there is no reference solution
 */
export function testerReward(isTest: boolean, reference: boolean | null): ActionReward | null {
  if (!isTest) return { team: 0, local: 0, parts: {}, reason: "no test found" };
  if (reference === null) return null;
  const parts = { valid: 0.2, reference: reference ? 0.8 : 0 };
  const reward = { team: 0, local: parts.valid + parts.reference, parts };
  return reference ? reward : { ...reward, reason: "the reference solution fails the test" };
}
