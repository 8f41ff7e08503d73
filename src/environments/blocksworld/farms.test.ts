/** Searches for exploits: reward without doing the work. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { total } from "../conformance/total.ts";
import type { BlocksTask } from "./generator.ts";
import type { BlocksState } from "./rules.ts";
import { movesBetween } from "./space.ts";
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
  it("earns 2 if it is a shortest plan, otherwise less, in any state of any episode", () => {
    fc.assert(
      fc.property(anyState, anyPlan, (state, plan) => {
        const { state: after, rewards } = environment.step(state, { planner: plan });
        const shortest = left(after) === 0 && plan.split("move").length - 1 === left(state);
        expect(total(rewards["planner"]) > 2 - tolerance).toBe(shortest);
        expect(total(rewards["planner"])).toBeLessThan(2 + tolerance);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(anyState, fc.constantFrom("planner", "proposer"), (state, seat) => {
        const best = environment.solve?.(state, seat) ?? "";
        expect(total(environment.step(state, { [seat]: best }).rewards[seat])).toBeCloseTo(2, 9);
      }),
    );
  });

  it("of three blocks: no order or plan of up to 4 moves earns as much as a shortest one without being one", () => {
    const state = environment.start(taskOf("ac b", "cba"));
    const moves = ["a", "b", "c"].flatMap((block) =>
      ["a", "b", "c", "table"].map((to) => `move ${block} ${to}`),
    );
    const plans = all(moves, 4).map((plan) =>
      total(environment.step(state, { planner: plan }).rewards["planner"]),
    );
    const orders = all(["a", "b", "c"], 6).map((order) =>
      total(environment.step(state, { proposer: order }).rewards["proposer"]),
    );
    expect(plans.filter((earned) => earned > 2 - tolerance)).toHaveLength(1);
    expect(orders.filter((earned) => earned > 2 - tolerance)).toHaveLength(1);
    expect(Math.max(...plans, ...orders)).toBeLessThan(2 + tolerance);
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

  it("that never reaches the goal earns the team the value of its nearest point, once", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, fc.integer({ min: 1, max: 4 }), (task, plans, times) => {
        const repeated = Array.from({ length: times }, () => plans).flat();
        const { team, nearest, state } = playAll(task, repeated);
        fc.pre(left(state) > 0);
        expect(team).toBeCloseTo((state.atStart - nearest) / state.atStart, 9);
        expect(team).toBeLessThan(1);
        expect(environment.outcome(state).score).toBeLessThanOrEqual(team + tolerance);
      }),
      { numRuns: 500 },
    );
  });

  it("has the score of its final state, however the moves are split into plans", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, (task, plans) => {
        const { moves } = playAll(task, plans);
        const whole = playAll(task, [moves.join(" ")]).state;
        const single = playAll(task, moves).state;
        expect(environment.outcome(single)).toEqual(environment.outcome(whole));
        expect(single.on).toEqual(whole.on);
      }),
    );
  });
});

interface Farmed {
  readonly state: BlocksState;
  /** The sum of the team's rewards. */
  readonly team: number;
  /** The fewest moves left when a plan had ended. */
  readonly nearest: number;
  /** Moves that were carried out. */
  readonly moves: readonly string[];
}

function playAll(task: BlocksTask, plans: readonly string[]): Farmed {
  const start = environment.start(task);
  let farmed: Farmed = { state: start, team: 0, nearest: start.atStart, moves: [] };
  for (const plan of plans) {
    const { state, rewards, done } = environment.step(farmed.state, { planner: plan });
    const written = plan.match(/move \S+ \S+/g) ?? [];
    farmed = {
      state: environment.endTurn?.(state) ?? state,
      team: farmed.team + (rewards["planner"]?.team ?? 0),
      nearest: Math.min(farmed.nearest, left(state)),
      moves: [...farmed.moves, ...written.slice(0, state.moved.length)],
    };
    if (done) break;
  }
  return farmed;
}

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
