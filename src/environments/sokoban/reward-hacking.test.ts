/** Searches for exploits that are peculiar to Sokoban. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { total } from "../conformance/total.ts";
import { playAll } from "../test-play.ts";
import { writeProposal } from "./notation.ts";
import { movesLeft, onGoals } from "./room.ts";
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
      { numRuns: 60 },
    );
    expect(dead).toBe(60);
  });
});

describe("one proposal", () => {
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
      { numRuns: 200 },
    );
  });
});

it("is not paid again for pushing a box off its goal and on again", () => {
  const start = environment.start(taskOf("####### #-----# #@$.--# #-----# #-$---# #-.---# #######"));
  const on = playAll(environment, start, ["right"]);
  expect(on.team).toBe(0.5);
  const cycle = "right up right right down left up left left down".split(" ");
  const around = playAll(environment, on.state, cycle);
  expect(around.state).toMatchObject({ at: on.state.at, boxes: on.state.boxes });
  expect(around.steps.some(({ state }) => onGoals(state.room, state.boxes) < 1)).toBe(true);
  const often = Array.from({ length: 20 }, () => cycle).flat();
  expect(playAll(environment, on.state, often).team).toBe(0);
});

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
