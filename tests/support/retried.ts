/** Names the tests that passed only when they were tried again, and why they failed at first. */
import type { Reporter, TestCase } from "vitest/node";

export class Retried implements Reporter {
  readonly #found: TestCase[] = [];

  onTestCaseResult(test: TestCase): void {
    if ((test.diagnostic()?.retryCount ?? 0) > 0) this.#found.push(test);
  }

  onTestRunEnd(): void {
    for (const test of this.#found) {
      const [error] = test.result().errors ?? [];
      console.log(`tried again: ${test.module.relativeModuleId} > ${test.fullName}: ${error?.message ?? ""}`);
    }
  }
}
