/** One move of the player: a step, or a push if a box is in the way. Cells, not places. */
import { cellNames, moveWords, neighbourTable } from "../grid/cells.ts";
import { isWall, type Room } from "./room.ts";

export interface RoomPosition {
  readonly at: number;
  /** Cells, ascending. */
  readonly boxes: readonly number[];
}

export interface Moved extends RoomPosition {
  /** The new cell of the pushed box; null: a step. */
  readonly pushedTo: number | null;
}

/** Why a move is impossible. */
export interface Blocked {
  /** The cell that could not be entered. */
  readonly bumped: number;
  readonly problem: string;
}

export function moveOnce(room: Room, { at, boxes }: RoomPosition, move: number): Moved | Blocked {
  const table = neighbourTable(room.size);
  const next = table[4 * at + move] ?? -1;
  // The edge is all wall, so every move leads to a cell.
  if (isWall(room, next))
    return { bumped: next, problem: `bumped into the wall at ${going(room, at, move)}` };
  if (!boxes.includes(next)) return { at: next, boxes, pushedTo: null };
  const beyond = table[4 * next + move] ?? -1;
  if (isWall(room, beyond) || boxes.includes(beyond)) {
    return { bumped: next, problem: `the box does not move at ${going(room, at, move)}` };
  }
  const moved = boxes.map((box) => (box === next ? beyond : box));
  return { at: next, boxes: sorted(moved), pushedTo: beyond };
}

export function isSolved({ goals }: Room, boxes: readonly number[]): boolean {
  return boxes.every((box) => goals.includes(box));
}

export function onGoals({ goals }: Room, boxes: readonly number[]): number {
  return boxes.reduce((count, box) => count + (goals.includes(box) ? 1 : 0), 0);
}

function sorted(boxes: number[]): number[] {
  return boxes.length === 1 ? boxes : boxes.toSorted((a, b) => a - b);
}

function going({ size }: Room, at: number, move: number): string {
  const next = neighbourTable(size)[4 * at + move] ?? 0;
  return `${cellNames(size)[next]} going ${moveWords[move]} from ${cellNames(size)[at]}`;
}
