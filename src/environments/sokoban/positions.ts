/**
 * Every solvable position of a room with its number of moves: breadth-first search backwards from the solved positions,
 * by walking and pulling. Positions that the search does not reach are dead, so deadlock detection is exact and needs
 * no patterns (corner, frozen pair). It visits each combination of a player's place and a set of box places once.
 */
import { type Floor, floorOf, type Room } from "./room.ts";

/** The result of `movesLeft` for unsolvable positions. */
export const dead = -1;

/** Bound on a room's positions: the places of its floor to the power of boxes + 1. */
export const mostPositions = 2 ** 22;

export interface Positions {
  readonly floor: Floor;
  readonly boxes: number;
  /** By `indexOf`: the fewest moves (steps and pushes) to the solution, or `dead`. */
  readonly moves: Int16Array;
}

/** Cached for the lifetime of the room object. Read-only. */
export function positionsOf(room: Room): Positions {
  const known = searched.get(room);
  if (known !== undefined) return known;
  const positions = searchBack(room);
  searched.set(room, positions);
  return positions;
}

const searched = new WeakMap<Room, Positions>();

/** The fewest moves to the solution, or `dead`. Cells; the boxes in any order. */
export function movesLeft(room: Room, at: number, boxes: readonly number[]): number {
  const { floor, moves } = positionsOf(room);
  const places = boxes.map((box) => floor.places[box] ?? 0).toSorted((a, b) => a - b);
  return moves[indexOf(floor.cells.length, floor.places[at] ?? 0, places)] ?? dead;
}

/** Mixed radix: the player's place first, then the boxes' in ascending order. */
function indexOf(count: number, player: number, boxes: ArrayLike<number>): number {
  let index = 0;
  for (let box = boxes.length - 1; box >= 0; box--) index = index * count + (boxes[box] ?? 0);
  return index * count + player;
}

/** Writes the boxes' places of a position into `boxes` and returns the player's. */
export function decode(count: number, index: number, boxes: Int16Array): number {
  let rest = Math.floor(index / count);
  for (let box = 0; box < boxes.length; box++) {
    const next = Math.floor(rest / count);
    boxes[box] = rest - next * count;
    rest = next;
  }
  return index % count;
}

/** Queue of positions, nearest first, and its length; shared, because the search never yields. */
let queue = new Int32Array(0);
let waiting = 0;

/** The solvable positions, nearest first. The next search overwrites `reached`: use it at once. */
export function reachedPositions(room: Room): {
  readonly positions: Positions;
  readonly reached: Int32Array;
} {
  const positions = searchBack(room);
  searched.set(room, positions);
  return { positions, reached: queue.subarray(0, waiting) };
}

function searchBack(room: Room): Positions {
  const floor = floorOf(room);
  const count = floor.cells.length;
  const goals = Int16Array.from(room.goals, (goal) => floor.places[goal] ?? 0);
  const moves = new Int16Array(count ** (goals.length + 1)).fill(dead);
  if (queue.length < moves.length) queue = new Int32Array(moves.length);
  waiting = 0;
  for (let player = 0; player < count; player++) {
    if (!goals.includes(player)) reach(moves, indexOf(count, player, goals), 0);
  }
  const boxes = new Int16Array(goals.length);
  const occupied = new Int8Array(count).fill(-1);
  for (let visited = 0; visited < waiting; visited++) {
    const index = queue[visited] ?? 0;
    const player = decode(count, index, boxes);
    for (let box = 0; box < boxes.length; box++) occupied[boxes[box] ?? 0] = box;
    expand(floor, moves, index, player, boxes, occupied);
    for (let box = 0; box < boxes.length; box++) occupied[boxes[box] ?? 0] = -1;
  }
  return { floor, boxes: goals.length, moves };
}

/** The positions from which one move leads here: the player came from an adjacent cell, and may have pushed a box. */
function expand(
  { neighbours, cells }: Floor,
  moves: Int16Array,
  index: number,
  player: number,
  boxes: Int16Array,
  occupied: Int8Array,
): void {
  const next = (moves[index] ?? 0) + 1;
  for (let move = 0; move < 4; move++) {
    // Opposite directions differ in the last bit of their numbers.
    const from = neighbours[4 * player + (move ^ 1)] ?? -1;
    if (from < 0 || occupied[from] !== -1) continue;
    reach(moves, index - player + from, next);
    const ahead = neighbours[4 * player + move] ?? -1;
    const pushed = ahead < 0 ? -1 : (occupied[ahead] ?? -1);
    if (pushed >= 0) reach(moves, pulled(cells.length, from, player, boxes, pushed), next);
  }
}

function reach(moves: Int16Array, index: number, distance: number): void {
  if (moves[index] !== dead) return;
  moves[index] = distance;
  queue[waiting++] = index;
}

/** The index of the position in which box number `pulled` was still at `place`, sorted again. */
function pulled(count: number, player: number, place: number, boxes: Int16Array, number: number): number {
  if (boxes.length === 1) return place * count + player;
  const before = Int16Array.from(boxes, (box, index) => (index === number ? place : box)).toSorted();
  return indexOf(count, player, before);
}
