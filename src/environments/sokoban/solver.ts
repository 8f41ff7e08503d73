/** Shortest solutions: one that is always the same, or one drawn at random. */
import type { Generator } from "../../random.ts";
import { drawInt } from "../../random.ts";
import { movesLeft } from "./positions.ts";
import { moveOnce, type Moved, type Position } from "./pushing.ts";
import type { Room } from "./room.ts";

/** One move of a solution and what it led to. */
export interface Step extends Moved {
  readonly move: number;
}

/** A push: the cell of the box and the direction. A type and not an interface, because only types are Json. */
export type Push = {
  readonly box: number;
  readonly move: number;
};

/** Of several shortest solutions the first in the order up, down, left, right; none where the position is dead. */
export function canonicalSolution(room: Room, from: Position): Step[] {
  return descend(room, from, (steps) => steps[0]);
}

/** At every move each of those that are best is equally likely. */
export function randomSolution(room: Room, from: Position, generator: Generator): Step[] {
  return descend(room, from, (steps) => steps[drawInt(generator, steps.length)]);
}

/** The pushes of a solution, without the steps between them: whoever pushes stands where the box was. */
export function pushesOf(steps: readonly Step[]): Push[] {
  return steps.filter(({ pushedTo }) => pushedTo !== null).map(({ at, move }) => ({ box: at, move }));
}

function descend(room: Room, from: Position, choose: (steps: readonly Step[]) => Step | undefined): Step[] {
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

/** The moves after which so many are left. */
function stepsTo(room: Room, here: Position, left: number): Step[] {
  const steps: Step[] = [];
  for (let move = 0; move < 4; move++) {
    const moved = moveOnce(room, here, move);
    if ("problem" in moved || movesLeft(room, moved.at, moved.boxes) !== left) continue;
    steps.push({ ...moved, move });
  }
  return steps;
}
