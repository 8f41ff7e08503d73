/** Searches for exploits: reward without doing the work. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { total } from "../conformance/total.ts";
import { distancesTo } from "../grid/board.ts";
import { cellNames, moveWords, neighbourTable } from "../grid/cells.ts";
import type { PathTask } from "./generator.ts";
import type { PathState } from "./rules.ts";
import { anyMoves, anyTask, pathEnvironment, taskOf } from "./test-boards.ts";

const environment = pathEnvironment();
/** Rounding of sums of doubles; different rewards differ by at least .8/400. */
const tolerance = 1e-9;

function earned(state: PathState, plan: string): number {
  return total(environment.step(state, { planner: plan }).rewards["planner"]);
}

function distance({ board, at }: PathState): number {
  return distancesTo(board)[at] ?? 0;
}

/** The state after some plans, stopping before the goal. */
function stateAfter(task: PathTask, plans: readonly string[][]): PathState {
  return plans.reduce((state, plan) => {
    const next = environment.step(state, { planner: plan.join(" ") });
    return next.done ? state : next.state;
  }, environment.start(task));
}

describe("one action", () => {
  it("earns 2 for a shortest path and less for anything else, in any state of any episode", () => {
    fc.assert(
      fc.property(anyTask, fc.array(anyMoves, { maxLength: 3 }), anyMoves, (task, before, plan) => {
        const state = stateAfter(task, before);
        const { state: after, rewards } = environment.step(state, { planner: plan.join(" ") });
        const shortest = after.at === state.board.goal && plan.length === distance(state);
        expect(total(rewards["planner"]) > 2 - tolerance).toBe(shortest);
        expect(total(rewards["planner"])).toBeLessThan(2 + tolerance);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(anyTask, fc.array(anyMoves, { maxLength: 3 }), (task, before) => {
        const state = stateAfter(task, before);
        expect(earned(state, environment.solve?.(state, "planner") ?? "")).toBeCloseTo(2, 9);
      }),
    );
  });

  it("on a small board: no plan of up to 7 moves earns as much as a shortest path without being one", () => {
    const state = environment.start(taskOf("S.. .#. .G."));
    const rivals: number[] = [];
    let shortest = 0;
    for (const plan of allPlans(7)) {
      const reward = earned(state, plan);
      if (Math.abs(reward - 2) < tolerance) shortest++;
      else rivals.push(reward);
    }
    expect(shortest).toBe(1);
    expect(Math.max(...rivals)).toBeLessThan(2);
  });

  it("that never reaches the goal has a lower team reward than any that does", () => {
    fc.assert(
      fc.property(anyTask, fc.array(anyMoves, { maxLength: 3 }), anyMoves, (task, before, plan) => {
        const state = stateAfter(task, before);
        const { done, rewards } = environment.step(state, { planner: plan.join(" ") });
        const team = rewards["planner"]?.team ?? 0;
        expect(team === 1).toBe(done);
        expect(team).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("of the scout is rewarded like the same plan of the planner", () => {
    fc.assert(
      fc.property(anyTask, anyMoves, (task, plan) => {
        const state = environment.start(task);
        const names = cellNames(task.board.size);
        const table = neighbourTable(task.board.size);
        let at = task.start;
        const cells = [at];
        for (const word of plan) {
          at = table[4 * at + moveWords.indexOf(word as "up")] ?? -1;
          if (at < 0) return;
          cells.push(at);
        }
        const route = cells.map((cell) => names[cell]).join(" ");
        const scout = environment.step(state, { scout: route }).rewards["scout"];
        expect(total(scout)).toBeCloseTo(earned(state, plan.join(" ")), 9);
      }),
    );
  });
});

describe("a whole episode", () => {
  const anyPlans = fc.array(anyMoves, { maxLength: 8 });

  it("that never reaches the goal earns the team less than 1, however long it is", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, (task, plans) => {
        const { team, state, done } = playAll(task, plans);
        fc.pre(!done);
        expect(team).toBeLessThan(1);
        expect(environment.outcome(state).score).toBeLessThanOrEqual(team + tolerance);
      }),
      { numRuns: 500 },
    );
  });

  it("earns the team at most the value of its nearest point, however often it walks to and fro", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, fc.integer({ min: 1, max: 5 }), (task, plans, times) => {
        const once = playAll(task, plans);
        const legal = once.walked;
        const backAndForth = [...legal, ...legal.toReversed().map(opposite)];
        const repeated = Array.from({ length: times }, () => backAndForth.map((move) => [move])).flat();
        const farmed = playAll(task, repeated);
        fc.pre(!once.done);
        expect(farmed.team).toBeCloseTo(closestShare(task, legal), 9);
      }),
    );
  });

  it("is paid for walking to and fro if rewards of actions are added up, but not if changes of the score are", () => {
    let state = environment.start(taskOf("S..G .... .... ...."));
    const changes: number[] = [];
    const earnedInTurns = ["right right", "left left", "right right", "left left"].map((plan) => {
      const result = environment.step(state, { planner: plan });
      changes.push(environment.outcome(result.state).score - environment.outcome(state).score);
      state = result.state;
      return total(result.rewards["planner"]);
    });
    const form = 0.1 + 0.1;
    const approach = 0.8 * (2 / 3);
    const expected = [2 / 3 + form + approach, form, form + approach, form];
    earnedInTurns.forEach((reward, turn) => expect(reward).toBeCloseTo(expected[turn] ?? NaN, 9));
    // More than the 2 of a shortest path. Rewards are for comparing the actions of one state, as AT-GRPO uses them.
    expect(earnedInTurns.reduce((sum, reward) => sum + reward, 0)).toBeGreaterThan(2);
    expect(changes).toEqual([2 / 3, -2 / 3, 2 / 3, -2 / 3]);
    expect(environment.outcome(state)).toEqual({ success: false, score: 0 });
  });

  it("has the score of its final state, however the walk is split into plans", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, (task, plans) => {
        const split = playAll(task, plans);
        const whole = playAll(task, [split.walked]);
        const single = playAll(
          task,
          split.walked.map((move) => [move]),
        );
        const scores = [split, whole, single].map(({ state }) => environment.outcome(state));
        expect(scores[1]).toEqual(scores[0]);
        expect(scores[2]).toEqual(scores[0]);
      }),
    );
  });
});

describe("what the original rewarded", () => {
  const tasks = Array.from({ length: 300 }, (_, index) =>
    environment.task("train", childKey(rootKey(3), index)),
  );

  it("500 moves to and fro earn less than the path to the goal (in the original more, on 291 of 300 boards)", () => {
    for (const task of tasks) {
      const state = environment.start(task);
      const [first = "up"] = (environment.solve?.(state, "planner") ?? "").split(" ");
      const loop = Array.from({ length: 500 }, (_, index) =>
        index % 2 === 0 ? first : opposite(first),
      ).join(" ");
      // One move from the goal, the loop reaches it at its first move and wastes 499.
      const team = distance(state) === 1 ? 1 : 0;
      expect(earned(state, loop)).toBeLessThanOrEqual(team + 0.2 + 0.8 / 400 + tolerance);
    }
  });

  it("a detour around a wall is rewarded although it first increases the straight-line distance", () => {
    const state = environment.start(taskOf("...# .S#G .... ...."));
    const { rewards } = environment.step(state, { planner: "down" });
    expect(rewards["planner"]).toMatchObject({ team: 1 / 4 });
  });

  it("after a failed turn the prompt shows where the agent is (in the original always the start)", () => {
    const { state } = environment.step(environment.start(taskOf("S.. .#. .#G")), { planner: "right down" });
    expect(environment.observe(state, "scout")).toBe("walls b2 b3\nat b1\ngoal c3\nbumped b2\nroute");
    expect(environment.observe(state, "planner")).toBe("walls b2 b3\nat b1\ngoal c3\nbumped b2\nplan");
  });
});

/** Plays the plans until the goal is reached; `walked` are the moves that were carried out. */
function playAll(
  task: PathTask,
  plans: readonly (readonly string[])[],
): { state: PathState; team: number; done: boolean; walked: string[] } {
  let state = environment.start(task);
  let team = 0;
  const walked: string[] = [];
  for (const plan of plans) {
    const result = environment.step(state, { planner: plan.join(" ") });
    state = environment.endTurn?.(result.state) ?? result.state;
    team += result.rewards["planner"]?.team ?? 0;
    walked.push(...plan.slice(0, state.path.length - 1));
    if (result.done) return { state, team, done: true, walked };
  }
  return { state, team, done: false, walked };
}

/** The largest share of the path completed at any point of the walk: the bound of its team reward. */
function closestShare(task: PathTask, moves: readonly string[]): number {
  const distances = distancesTo(task.board);
  const table = neighbourTable(task.board.size);
  const atStart = distances[task.start] ?? 0;
  let at = task.start;
  let closest = atStart;
  for (const move of moves) {
    at = table[4 * at + moveWords.indexOf(move as "up")] ?? at;
    closest = Math.min(closest, distances[at] ?? closest);
  }
  return (atStart - closest) / atStart;
}

function opposite(move: string): string {
  // Opposite directions differ in the last bit of their numbers.
  return moveWords[moveWords.indexOf(move as "up") ^ 1] ?? move;
}

function* allPlans(longest: number): Iterable<string> {
  for (let length = 1; length <= longest; length++) {
    for (let number = 0; number < 4 ** length; number++) {
      const digits = number.toString(4).padStart(length, "0");
      yield Array.from(digits, (digit) => moveWords[Number(digit)]).join(" ");
    }
  }
}
