/**
 * Rewards of a coder and a tester (AT-GRPO, arXiv 2510.11062, appendix C.1). The tester earns only for its test.
 * Deviations: docs/results/deviations.md.
 */
import type { ActionReward } from "../../environment.ts";
import type { TestResult, TestReport } from "../grading/grade.ts";

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
