/** Searches for exploits: reward without doing the work. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { total } from "../conformance/total.ts";
import { type Playthrough, playAll } from "../placing/test-play.ts";
import { placementOf, writePlan } from "./notation.ts";
import { completionsOf, type QueensTask } from "./generator.ts";
import type { QueensState } from "./rules.ts";
import { anyTask, queensEnvironment } from "./test-boards.ts";

const environment = queensEnvironment();
/** Rounding of sums of doubles; different rewards differ by more than .001. */
const tolerance = 1e-9;

/** Queens of one solution, any others, and rows to empty. */
const anyPlan = (task: QueensTask): fc.Arbitrary<readonly number[]> => {
  const row = fc.nat({ max: 7 });
  const right = fc
    .tuple(row, fc.constantFrom(...completionsOf(task).slice(0, 2)))
    .map(([at, solution]) => placementOf(8, at, (solution.codePointAt(at) ?? 97) - 97));
  const wild = fc
    .tuple(row, fc.integer({ min: -1, max: 7 }))
    .map(([at, column]) => placementOf(8, at, column));
  return fc.array(fc.oneof({ weight: 3, arbitrary: right }, wild), { maxLength: 10 });
};

const anyEpisode = (most: number): fc.Arbitrary<{ task: QueensTask; plans: (readonly number[])[] }> =>
  anyTask.chain((task) =>
    fc.array(anyPlan(task), { minLength: 1, maxLength: most }).map((plans) => ({ task, plans })),
  );

/** Plays the plans until the task is solved. */
function played(task: QueensTask, plans: readonly (readonly number[])[]): Playthrough<QueensState> {
  return playAll(
    environment,
    task,
    plans.map((plan) => writePlan("queens", 8, plan)),
  );
}

describe("one action", () => {
  it("earns at most what the solver's earns, in any state of any episode, and 2 at the start", () => {
    fc.assert(
      fc.property(anyEpisode(4), ({ task, plans }) => {
        const { state, done } = played(task, plans.slice(0, -1));
        fc.pre(!done);
        const best = environment.step(state, { planner: environment.solve?.(state, "planner") ?? "" });
        const other = environment.step(state, { planner: writePlan("queens", 8, plans.at(-1) ?? []) });
        expect(best.done).toBe(true);
        expect(total(other.rewards["planner"])).toBeLessThanOrEqual(
          total(best.rewards["planner"]) + tolerance,
        );
        expect(other.rewards["planner"]?.team === 1).toBe(other.done);
        const first = environment.start(task);
        const { rewards } = environment.step(first, { planner: environment.solve?.(first, "planner") ?? "" });
        expect(total(rewards["planner"])).toBeCloseTo(2, 9);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a whole episode", () => {
  it("that does not solve earns less in total than the solver's one action, however long it is", () => {
    fc.assert(
      fc.property(anyEpisode(10), ({ task, plans }) => {
        const { done, earned, team, state } = played(task, plans);
        fc.pre(!done);
        expect(team).toBeLessThan(1);
        expect(earned).toBeLessThan(2);
        expect(environment.outcome(state).score).toBeLessThanOrEqual(team + tolerance);
      }),
      { numRuns: 500 },
    );
  });

  it("gains nothing by cycling: a queen removed and placed again earns nothing", () => {
    fc.assert(
      fc.property(anyEpisode(3), fc.integer({ min: 1, max: 4 }), ({ task, plans }, times) => {
        const once = played(task, plans);
        fc.pre(!once.done);
        const rows = Array.from(task.given, (_, row) => row).filter((row) => task.given[row] === ".");
        const round = [...plans, rows.map((row) => placementOf(8, row, -1))];
        const farmed = played(task, Array.from({ length: times + 1 }, () => round).flat());
        expect(farmed.earned).toBeCloseTo(once.earned, 9);
      }),
      { numRuns: 300 },
    );
  });
});
