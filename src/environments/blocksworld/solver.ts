/** Shortest plans: one that is always the same, or one drawn at random. */
import type { Generator } from "../../random.ts";
import { drawInt } from "../../random.ts";
import { movesBetween } from "./space.ts";
import { afterMove, type Move, placeFor, problemOf, type Towers } from "./tower.ts";

/** Of several shortest plans the one that moves the first blocks of the alphabet first. */
export function canonicalPlan(on: Towers, goal: Towers): Move[] {
  return descend(on, goal, (moves) => moves[0]);
}

/** At every move each block that is best is equally likely. */
export function randomPlan(on: Towers, goal: Towers, generator: Generator): Move[] {
  return descend(on, goal, (moves) => moves[drawInt(generator, moves.length)]);
}

function descend(on: Towers, goal: Towers, choose: (moves: readonly Move[]) => Move | undefined): Move[] {
  const plan: Move[] = [];
  let here = on;
  for (let left = movesBetween(on, goal); left > 0; left--) {
    const move = choose(bestMoves(here, goal, left));
    if (move === undefined) break;
    plan.push(move);
    here = afterMove(here, move);
  }
  return plan;
}

/** The blocks that can be moved to their place or to the table with one move fewer left than before. */
function bestMoves(on: Towers, goal: Towers, left: number): Move[] {
  return on
    .map((_, block) => ({ block, to: placeFor(on, goal, block) }))
    .filter(
      (move) => problemOf(on, move) === undefined && movesBetween(afterMove(on, move), goal) === left - 1,
    );
}
