/**
 * A run of all tests may have an end (TROUPE_TEST_DEADLINE, in seconds since 1970), because a continuous integration has
 * one, too. The slow suites run in the order of what they protect for each minute that they take, and the last lines name
 * those that did not run, or not to their end, for lack of time. Quick tests never do: without them the run fails.
 */
import path from "node:path";
import {
  BaseSequencer,
  type Reporter,
  type SerializedError,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from "vitest/node";
import { slowSuites } from "./slow-suites.ts";

const isSlow = (file: string): boolean => file.endsWith(".slow.test.ts");

/** The place of a slow suite; one that the list does not have yet runs first. */
const placeOf = (file: string): number => slowSuites.findIndex((suite) => file.endsWith(`/${suite}`));

export class ByWorth extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // The sequencer's own order, not that of an array.
    // oxlint-disable-next-line unicorn/no-array-sort
    const sorted = await super.sort(files);
    const slow = sorted
      .filter(({ moduleId }) => isSlow(moduleId))
      .toSorted((a, b) => placeOf(a.moduleId) - placeOf(b.moduleId));
    return [...sorted.filter(({ moduleId }) => !isSlow(moduleId)), ...slow];
  }
}

export class Budget implements Reporter {
  readonly #deadline = Number(process.env["TROUPE_TEST_DEADLINE"] ?? Infinity) * 1000;
  readonly #complete = new Set<string>();
  #expected: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#expected = specifications.map(({ moduleId }) => moduleId);
    if (this.#deadline === Infinity) return;
    this.#timer = setTimeout(
      () => {
        this.#isOver = true;
        void this.#vitest?.cancelCurrentRun("deadline" as never);
      },
      Math.max(0, this.#deadline - Date.now()),
    );
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    // What ends later was interrupted: its tests count as skipped.
    if (!this.#isOver) this.#complete.add(moduleId);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) return;
    const missing = this.#expected.filter((file) => !this.#complete.has(file));
    // Without a single complete suite nothing was tested.
    const hasFailed =
      errors.length > 0 ||
      this.#complete.size === 0 ||
      modules.some((module) => !module.ok()) ||
      missing.some((file) => !isSlow(file));
    // After the summary, so that these are the last lines; vitest itself ends an interrupted run with 1.
    process.once("exit", () => {
      console.log(`Time ran out. ${missing.length} test files did not run to their end:`);
      for (const file of missing) console.log(`  ${path.relative(process.cwd(), file)}`);
      process.exitCode = hasFailed ? 1 : 0;
    });
  }
}
