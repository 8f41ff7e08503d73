import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generatorOf, rootKey } from "../../random.ts";
import {
  canonicalSolution,
  dead,
  isSolved,
  moveOnce,
  movesLeft,
  positionsOf,
  pushesOf,
  randomSolution,
  type Room,
  type RoomPosition,
} from "./room.ts";
import { anyTask, taskOf } from "./test-rooms.ts";

/** A naive search: forwards, with positions as text. */
function searchForwards(room: Room, from: RoomPosition): number {
  const seen = new Set([JSON.stringify(from)]);
  let frontier = [from];
  for (let moves = 0; frontier.length > 0; moves++) {
    if (frontier.some(({ boxes }) => isSolved(room, boxes))) return moves;
    frontier = frontier
      .flatMap((here) => nextPositions(room, here))
      .filter((next) => {
        const text = JSON.stringify(next);
        return seen.has(text) ? false : seen.add(text).has(text);
      });
  }
  return dead;
}

function nextPositions(room: Room, here: RoomPosition): RoomPosition[] {
  return [0, 1, 2, 3].flatMap((move) => {
    const moved = moveOnce(room, here, move);
    return "problem" in moved ? [] : [{ at: moved.at, boxes: moved.boxes }];
  });
}

describe("the moves left", () => {
  it.each([
    ["##### #@$.# #---# #---# #####", 1],
    // Around the box to its far side: down, right, right, up, then the push left.
    ["##### #.-$# #@--# #---# #####", dead],
    ["###### #.$-@# #----# ###### ###### ######", 2],
    ["###### #.-$-# #@---# #----# ###### ######", 6],
    ["##### #@*-# #---# #---# #####", 0],
    // A box in a corner, and two that block each other at a wall.
    ["##### #$-@# #-.-# #---# #####", dead],
    ["###### #-$$-# #-@--# #..--# #----# ######", dead],
  ])("%s: %i", (drawing, moves) => {
    const { room, at, boxes } = taskOf(drawing);
    expect(movesLeft(room, at, boxes)).toBe(moves);
  });

  it("equal those of a naive search forwards, also if no solution is left", () => {
    let deadOnes = 0;
    fc.assert(
      fc.property(anyTask, fc.array(fc.nat(3), { maxLength: 12 }), ({ room, at, boxes }, moves) => {
        let here: RoomPosition = { at, boxes };
        for (const move of moves) {
          const moved = moveOnce(room, here, move);
          if (!("problem" in moved)) here = { at: moved.at, boxes: moved.boxes };
        }
        const expected = searchForwards(room, here);
        if (expected === dead) deadOnes++;
        expect(movesLeft(room, here.at, here.boxes)).toBe(expected);
      }),
      { numRuns: 60, seed: 1 },
    );
    expect(deadOnes).toBeGreaterThan(5);
  });

  it("do not depend on the order of the boxes", () => {
    const { room, at, boxes } = taskOf("###### #----# #-$@-# #.-$-# #---.# ######");
    expect(movesLeft(room, at, boxes.toReversed())).toBe(movesLeft(room, at, boxes));
    expect(movesLeft(room, at, boxes)).toBeGreaterThan(0);
  });

  it("are computed once per room object", () => {
    const { room } = taskOf("##### #@$.# #---# #---# #####");
    expect(positionsOf(room)).toBe(positionsOf(room));
    const again = JSON.parse(JSON.stringify(room)) as Room;
    expect(positionsOf(again)).not.toBe(positionsOf(room));
    expect(positionsOf(again)).toEqual(positionsOf(room));
  });
});

describe("a solution", () => {
  it("solves the room in as many moves as are left, canonical or random", () => {
    fc.assert(
      fc.property(anyTask, fc.nat(), (task, seed) => {
        const generator = generatorOf(rootKey(seed));
        for (const steps of [
          canonicalSolution(task.room, task),
          randomSolution(task.room, task, generator),
        ]) {
          expect(steps).toHaveLength(movesLeft(task.room, task.at, task.boxes));
          expect(isSolved(task.room, steps.at(-1)?.boxes ?? [])).toBe(true);
          expect(pushesOf(steps)).toHaveLength(steps.filter(({ pushedTo }) => pushedTo !== null).length);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("does not exist if the room cannot be solved", () => {
    const task = taskOf("##### #$-@# #-.-# #---# #####");
    expect(canonicalSolution(task.room, task)).toEqual([]);
  });
});
