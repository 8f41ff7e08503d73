/** Shortest solutions: a canonical one, or one drawn at random. */
import type { Generator } from "../../random.ts";
import { drawInt } from "../../random.ts";
import { movesLeft } from "./positions.ts";
import { moveOnce, type Moved, type RoomPosition } from "./pushing.ts";
import type { Room } from "./room.ts";

/** One move of a solution and its result. */
export interface Step extends Moved {
  readonly move: number;
}

/** A push: the cell of the box and the direction. A type, not an interface: only types are assignable to Json. */
export type Push = {
  readonly box: number;
  readonly move: number;
};

/** The shortest solution that is first in the order up, down, left, right; empty for a dead position. */
export function canonicalSolution(room: Room, from: RoomPosition): Step[] {
  return descend(room, from, (steps) => steps[0]);
}

/** At every move each optimal one is equally likely. */
export function randomSolution(room: Room, from: RoomPosition, generator: Generator): Step[] {
  return descend(room, from, (steps) => steps[drawInt(generator, steps.length)]);
}

/** The pushes of a solution, without the steps between them: the player stands where the box was. */
export function pushesOf(steps: readonly Step[]): Push[] {
  return steps.filter(({ pushedTo }) => pushedTo !== null).map(({ at, move }) => ({ box: at, move }));
}

function descend(
  room: Room,
  from: RoomPosition,
  choose: (steps: readonly Step[]) => Step | undefined,
): Step[] {
  const solution: Step[] = [];
  let here = from;
  for (let left = movesLeft(room, here.at, here.boxes); left > 0; left--) {
    const step = choose(stepsTo(room, here, left - 1));
    if (step === undefined) break;
    solution.push(step);
    here = step;
  }
  return solution;
}

/** The moves after which this many are left. */
function stepsTo(room: Room, here: RoomPosition, left: number): Step[] {
  const steps: Step[] = [];
  for (let move = 0; move < 4; move++) {
    const moved = moveOnce(room, here, move);
    if ("problem" in moved || movesLeft(room, moved.at, moved.boxes) !== left) continue;
    steps.push({ ...moved, move });
  }
  return steps;
}
