/** Carries out a plan or a proposal until the room is solved or a move is impossible. */
import { cellNames, moveWords, neighbourTable } from "../grid/cells.ts";
import { isSolved, moveOnce, type RoomPosition } from "./pushing.ts";
import type { Room } from "./room.ts";
import type { Push } from "./solver.ts";
import { stepsBetween } from "./walking.ts";

/** The final position, and how it was reached. */
export interface PlanResult extends RoomPosition {
  /** Moves or pushes. */
  readonly written: number;
  readonly carriedOut: number;
  /** Moves used; each move not carried out counts as one. */
  readonly moves: number;
  /** The player's cells, including the first; of a proposal only the first and the last. */
  readonly path: readonly number[];
  /** The cell that could not be entered. */
  readonly bumped: number | null;
  readonly problem: string | undefined;
}

const wentOn = "continued after the room was solved";

export function carryOut(room: Room, from: RoomPosition, moves: readonly number[]): PlanResult {
  const path = [from.at];
  let here = from;
  let bumped: number | null = null;
  let problem: string | undefined;
  for (const move of moves) {
    if (isSolved(room, here.boxes)) problem = wentOn;
    else {
      const moved = moveOnce(room, here, move);
      if ("problem" in moved) ({ problem, bumped } = moved);
      else here = moved;
    }
    if (problem !== undefined) break;
    path.push(here.at);
  }
  const { at, boxes } = here;
  const written = moves.length;
  return { at, boxes, written, carriedOut: path.length - 1, moves: written, path, bumped, problem };
}

/** The player takes a shortest walk to each push. */
export function followPushes(room: Room, from: RoomPosition, pushes: readonly Push[]): PlanResult {
  let here = from;
  let carriedOut = 0;
  let moves = 0;
  let problem: string | undefined;
  for (const push of pushes) {
    const pushed = isSolved(room, here.boxes) ? wentOn : pushOnce(room, here, push);
    if (typeof pushed === "string") {
      problem = pushed;
      break;
    }
    here = pushed.position;
    moves += pushed.moves;
    carriedOut++;
  }
  const { at, boxes } = here;
  const written = pushes.length;
  moves += written - carriedOut;
  return { at, boxes, written, carriedOut, moves, path: [from.at, at], bumped: null, problem };
}

/** A string says why the push is impossible. */
function pushOnce(
  room: Room,
  here: RoomPosition,
  { box, move }: Push,
): { readonly position: RoomPosition; readonly moves: number } | string {
  const names = cellNames(room.size);
  if (!here.boxes.includes(box)) return `there is no box at ${names[box] ?? "a cell outside the room"}`;
  const behind = neighbourTable(room.size)[4 * box + (move ^ 1)] ?? -1;
  const steps = stepsBetween(room, here, behind);
  if (steps < 0) return `the player cannot get behind ${names[box]} to push it ${moveWords[move]}`;
  const moved = moveOnce(room, { at: behind, boxes: here.boxes }, move);
  return "problem" in moved ? moved.problem : { position: moved, moves: steps + 1 };
}
