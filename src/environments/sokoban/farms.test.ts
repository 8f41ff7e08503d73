/** Searches for exploits: reward without doing the work. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { total } from "../conformance/total.ts";
import { moveWords } from "../grid/cells.ts";
import { writeProposal } from "./notation.ts";
import { moveOnce, movesLeft, onGoals, type RoomPosition } from "./room.ts";
import type { SokobanState } from "./rules.ts";
import { anyMoves, anyTask, sokobanEnvironment, taskOf } from "./test-rooms.ts";

const environment = sokobanEnvironment();
/** Rounding of sums of doubles. */
const tolerance = 1e-9;

function planned(state: SokobanState, plan: readonly string[]): ReturnType<typeof environment.step> {
  return environment.step(state, { planner: plan.join(" ") });
}

/** The state after some plans, stopping before the end of the episode. */
const anyState: fc.Arbitrary<SokobanState> = fc
  .tuple(anyTask, fc.array(anyMoves, { maxLength: 3 }))
  .map(([task, plans]) =>
    plans.reduce((state, plan) => {
      const next = planned(state, plan);
      return next.done ? state : next.state;
    }, environment.start(task)),
  );

function left({ room, at, boxes }: SokobanState): number {
  return movesLeft(room, at, boxes);
}

describe("one plan", () => {
  it("earns 2 if it is a shortest solution, otherwise less, in any state of any episode", () => {
    fc.assert(
      fc.property(anyState, anyMoves, (state, plan) => {
        const { state: after, rewards } = planned(state, plan);
        const shortest = left(after) === 0 && plan.length === left(state);
        expect(total(rewards["planner"]) > 2 - tolerance).toBe(shortest);
        expect(total(rewards["planner"])).toBeLessThan(2 + tolerance);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(anyState, (state) => {
        const plan = (environment.solve?.(state, "planner") ?? "").split(" ");
        expect(total(planned(state, plan).rewards["planner"])).toBeCloseTo(2, 9);
      }),
    );
  });

  it("in a small room: no plan of up to 6 moves earns as much as a shortest solution without being one", () => {
    const state = environment.start(taskOf("##### #-@-# #-$-# #--.# #####"));
    expect(left(state)).toBe(4);
    const rivals: number[] = [];
    let shortest = 0;
    for (const plan of allPlans(6)) {
      const reward = total(planned(state, plan).rewards["planner"]);
      if (Math.abs(reward - 2) < tolerance) shortest++;
      else rivals.push(reward);
    }
    expect(shortest).toBeGreaterThan(0);
    expect(Math.max(...rivals)).toBeLessThan(2 - tolerance);
  });

  it("that makes no progress earns at most the format term: waiting is not rewarded as avoiding deadlocks", () => {
    fc.assert(
      fc.property(anyState, anyMoves, (state, plan) => {
        const { state: after, rewards } = planned(state, plan);
        fc.pre(left(after) >= left(state));
        expect(rewards["planner"]?.local).toBeLessThanOrEqual(0.2 + tolerance);
      }),
      { numRuns: 500 },
    );
  });

  it("that makes the room unsolvable earns at most the format term", () => {
    let dead = 0;
    fc.assert(
      fc.property(anyState, anyMoves, (state, plan) => {
        const { state: after, rewards } = planned(state, plan);
        fc.pre(left(after) < 0);
        dead++;
        expect(rewards["planner"]?.team).toBe(0);
        expect(rewards["planner"]?.local).toBeLessThanOrEqual(0.2 + tolerance);
      }),
      { numRuns: 200 },
    );
    expect(dead).toBe(200);
  });
});

describe("one proposal", () => {
  it("is rewarded like the plan that takes the shortest walks to its pushes", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const proposal = environment.solve?.(state, "proposer") ?? "";
        expect(total(environment.step(state, { proposer: proposal }).rewards["proposer"])).toBeCloseTo(2, 9);
      }),
    );
  });

  it("of any pushes earns at most what the best plan earns, and its team reward only by solving", () => {
    const anyPushes = fc.array(fc.record({ pick: fc.nat(3), move: fc.nat(3) }), { maxLength: 10 });
    fc.assert(
      fc.property(anyState, anyPushes, (state, picks) => {
        const pushes = pushesFrom(state, picks);
        const text = writeProposal(state.room.size, pushes);
        const { rewards, state: after } = environment.step(state, { proposer: text });
        expect(total(rewards["proposer"])).toBeLessThan(2 + tolerance);
        expect(after).toMatchObject({ at: state.at, boxes: state.boxes, most: state.most });
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a whole episode", () => {
  const anyPlans = fc.array(anyMoves, { maxLength: 10 });

  it("that never solves the room earns the team less than 1, however long it is", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, (task, plans) => {
        const { team, state } = playAll(environment.start(task), plans);
        fc.pre(left(state) !== 0);
        expect(team).toBeLessThan(1);
        expect(environment.outcome(state).score).toBeLessThanOrEqual(team + tolerance);
      }),
      { numRuns: 500 },
    );
  });

  it("is not paid again for pushing a box off its goal and on again", () => {
    const start = environment.start(taskOf("####### #-----# #@$.--# #-----# #-$---# #-.---# #######"));
    const on = playAll(start, [["right"]]);
    expect(on.team).toBe(0.5);
    const cycle = "right up right right down left up left left down".split(" ").map((move) => [move]);
    const around = playAll(on.state, cycle);
    expect(around.state).toMatchObject({ at: on.state.at, boxes: on.state.boxes });
    expect(around.off).toBe(true);
    const often = Array.from({ length: 20 }, () => cycle).flat();
    expect(playAll(on.state, often).team).toBe(0);
  });

  it("gains nothing by any cycle: back in a position, the team has earned the value of its best state", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, fc.integer({ min: 2, max: 4 }), (task, plans, times) => {
        const start = environment.start(task);
        const repeated = Array.from({ length: times }, () => plans).flat();
        const { team, most, state } = playAll(start, repeated);
        fc.pre(left(state) !== 0);
        expect(team).toBeCloseTo(most / task.boxes.length, 9);
      }),
      { numRuns: 300 },
    );
  });

  it("has the score of its final state, however the moves are split into plans", () => {
    fc.assert(
      fc.property(anyTask, anyPlans, (task, plans) => {
        const moves = possible(task, plans.flat());
        const start = environment.start(task);
        const whole = environment.outcome(playAll(start, [moves]).state);
        const single = environment.outcome(
          playAll(
            start,
            moves.map((move) => [move]),
          ).state,
        );
        expect(single).toEqual(whole);
      }),
    );
  });
});

interface Farmed {
  readonly state: SokobanState;
  /** The sum of the team's rewards. */
  readonly team: number;
  /** The most boxes on goals after any plan in a solvable position. */
  readonly most: number;
  /** Some plan ended with fewer boxes on goals than before. */
  readonly off: boolean;
}

function playAll(start: SokobanState, plans: readonly (readonly string[])[]): Farmed {
  let farmed: Farmed = { state: start, team: 0, most: 0, off: false };
  for (const plan of plans) {
    const { state, rewards, done } = planned(farmed.state, plan);
    const on = left(state) < 0 ? 0 : onGoals(state.room, state.boxes);
    farmed = {
      state: environment.endTurn?.(state) ?? state,
      team: farmed.team + (rewards["planner"]?.team ?? 0),
      most: Math.max(farmed.most, on),
      off: farmed.off || on < onGoals(state.room, farmed.state.boxes),
    };
    if (done) break;
  }
  return farmed;
}

/** The possible moves in sequence, until the room is solved or dead. */
function possible(
  { room, at, boxes }: RoomPosition & { room: SokobanState["room"] },
  moves: readonly string[],
): string[] {
  let here: RoomPosition = { at, boxes };
  return moves.filter((word) => {
    if (movesLeft(room, here.at, here.boxes) <= 0) return false;
    const moved = moveOnce(room, here, moveWords.indexOf(word as "up"));
    if ("problem" in moved) return false;
    here = moved;
    return true;
  });
}

/** Pushes of boxes at their cells, so that many of them can be carried out. */
function pushesFrom(
  { room, boxes }: SokobanState,
  picks: readonly { readonly pick: number; readonly move: number }[],
): { box: number; move: number }[] {
  const differences = [-room.size, room.size, -1, 1];
  const where = [...boxes];
  return picks.map(({ pick, move }) => {
    const number = pick % where.length;
    const box = where[number] ?? 0;
    where[number] = box + (differences[move] ?? 0);
    return { box, move };
  });
}

function* allPlans(longest: number): Iterable<string[]> {
  for (let length = 1; length <= longest; length++) {
    for (let number = 0; number < 4 ** length; number++) {
      const digits = number.toString(4).padStart(length, "0");
      yield Array.from(digits, (digit) => moveWords[Number(digit)] ?? "");
    }
  }
}
