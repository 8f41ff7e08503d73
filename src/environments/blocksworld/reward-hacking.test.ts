/** Searches for exploits that are peculiar to Blocksworld. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { total } from "../conformance/total.ts";
import type { BlocksState } from "./rules.ts";
import { movesBetween } from "./space.ts";
import { playAll } from "../test-play.ts";
import { anyPlan, anyTask, blocksEnvironment, taskOf } from "./test-blocks.ts";

const environment = blocksEnvironment();
/** Rounding of sums of doubles. */
const tolerance = 1e-9;

function left({ on, goal }: BlocksState): number {
  return movesBetween(on, goal);
}

/** The state after some plans, stopping before the goal. */
const anyState: fc.Arbitrary<BlocksState> = fc
  .tuple(anyTask, fc.array(anyPlan, { maxLength: 3 }))
  .map(([task, plans]) =>
    plans.reduce((state, plan) => {
      const next = environment.step(state, { planner: plan });
      return next.done ? state : next.state;
    }, environment.start(task)),
  );

describe("one action", () => {
  it("of three blocks: no order of up to 6 earns as much as the best one without being it", () => {
    const state = environment.start(taskOf("ac b", "cba"));
    const orders = all(["a", "b", "c"], 6).map((order) =>
      total(environment.step(state, { proposer: order }).rewards["proposer"]),
    );
    expect(orders.filter((earned) => earned > 2 - tolerance)).toHaveLength(1);
    expect(Math.max(...orders)).toBeLessThan(2 + tolerance);
  });

  it("that brings the goal no nearer earns at most the format term", () => {
    fc.assert(
      fc.property(anyState, anyPlan, (state, plan) => {
        const { state: after, rewards } = environment.step(state, { planner: plan });
        fc.pre(left(after) >= left(state));
        expect(rewards["planner"]?.local).toBeLessThanOrEqual(0.2 + tolerance);
        expect(rewards["planner"]?.team).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a whole episode", () => {
  const anyPlans = fc.array(anyPlan, { maxLength: 8 });

  it("has the same towers at its end, however the moves are split into plans", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, (task, plans) => {
        const start = environment.start(task);
        const moves = playAll(environment, start, plans).steps.flatMap(({ plan, state }) =>
          (plan.match(/move \S+ \S+/g) ?? []).slice(0, state.moved.length),
        );
        const whole = playAll(environment, start, [moves.join(" ")]).state;
        const single = playAll(environment, start, moves).state;
        expect(single.on).toEqual(whole.on);
      }),
    );
  });
});

/** All lists of up to `longest` words. */
function all(words: readonly string[], longest: number): string[] {
  let lists = words.map((word) => word);
  const every = [...lists];
  for (let length = 2; length <= longest; length++) {
    lists = lists.flatMap((list) => words.map((word) => `${list} ${word}`));
    every.push(...lists);
  }
  return every;
}
