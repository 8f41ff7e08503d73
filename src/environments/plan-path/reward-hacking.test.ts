/** Searches for exploits that are peculiar to Plan-Path. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { total } from "../conformance/total.ts";
import { distancesTo } from "../grid/board.ts";
import { cellNames, moveWords, neighbourTable } from "../grid/cells.ts";
import type { PathTask } from "./generator.ts";
import type { PathState } from "./rules.ts";
import { playAll } from "../test-play.ts";
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

  it("earns the team at most the value of its nearest point, however often it walks to and fro", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, fc.integer({ min: 1, max: 5 }), (task, plans, times) => {
        const once = walkAll(task, plans);
        const legal = once.walked;
        const backAndForth = [...legal, ...legal.toReversed().map(opposite)];
        const repeated = Array.from({ length: times }, () => backAndForth.map((move) => [move])).flat();
        const farmed = walkAll(task, repeated);
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
        const split = walkAll(task, plans);
        const whole = walkAll(task, [split.walked]);
        const single = walkAll(
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
function walkAll(task: PathTask, plans: readonly (readonly string[])[]) {
  const played = playAll(
    environment,
    environment.start(task),
    plans.map((plan) => plan.join(" ")),
  );
  const walked = played.steps.flatMap(({ state }, turn) =>
    (plans[turn] ?? []).slice(0, state.path.length - 1),
  );
  return { ...played, walked };
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
