/**
 * The split a room belongs to, decided by its floor and its goals alone, never by a seed. Player and boxes are left out on
 * purpose: an episode moves them, and no state of a training episode may be a held-out task. Rooms that are the same but
 * for turning, mirroring or shifting are the same room.
 */
import { mix32 } from "../../random.ts";
import type { GameSplit } from "../tasks.ts";
import { splitOfHash } from "../held-out.ts";
import { isWall, type Room } from "./room.ts";

/** A quarter of all rooms is held out. */
export function splitOf(room: Room): GameSplit {
  let least = 0xffffffff;
  const cells = croppedFloor(room);
  for (let symmetry = 0; symmetry < 8; symmetry++) least = Math.min(least, hashSeen(cells, symmetry));
  return splitOfHash(mix(least));
}

interface Cropped {
  readonly height: number;
  readonly width: number;
  /** Row, column, and 1 at goals, for each cell of the floor. */
  readonly cells: readonly (readonly [number, number, number])[];
}

/** The floor within the smallest rectangle around it. */
function croppedFloor(room: Room): Cropped {
  let [top, left, bottom, right] = [room.size, room.size, 0, 0];
  const cells: [number, number, number][] = [];
  for (let cell = 0; cell < room.walls.length; cell++) {
    if (isWall(room, cell)) continue;
    const row = Math.floor(cell / room.size);
    const column = cell % room.size;
    [top, left] = [Math.min(top, row), Math.min(left, column)];
    [bottom, right] = [Math.max(bottom, row), Math.max(right, column)];
    cells.push([row, column, room.goals.includes(cell) ? 1 : 0]);
  }
  for (const cell of cells) {
    cell[0] -= top;
    cell[1] -= left;
  }
  return { height: bottom - top, width: right - left, cells };
}

/** The room as it looks under one of the eight symmetries of the square, as a number that no order of cells changes. */
function hashSeen({ height, width, cells }: Cropped, symmetry: number): number {
  const turned = (symmetry & 4) !== 0;
  let sum = 0;
  for (const [row, column, goal] of cells) {
    const down = (symmetry & 1) === 0 ? row : height - row;
    const along = (symmetry & 2) === 0 ? column : width - column;
    const place = turned ? 64 * along + down : 64 * down + along;
    sum = (sum + mix(2 * place + goal)) >>> 0;
  }
  return sum;
}

/** Behind a multiplication that tells small numbers apart. Unsigned. */
function mix(word: number): number {
  return mix32(Math.imul(word + 1, 0x9e3779b1)) >>> 0;
}
