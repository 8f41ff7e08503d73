/** Rooms, what moves and pushes do in them, and how they are solved. */
import { drawInt, type Generator } from "../../random.ts";
import { cellNames, moveWords, neighbourTable } from "../grid/cells.ts";

// A room: walls and goals. Its floor cells are numbered, so that searches work on small arrays.

/** A type, not an interface: only types are assignable to Json. */
export type Room = {
  readonly size: number;
  /** One character for each cell, row by row: "#" a wall, "." floor. The outermost cells are walls. */
  readonly walls: string;
  /** Cells, ascending; as many as there are boxes. */
  readonly goals: readonly number[];
};

/** The free cells of a room, numbered from 0; such a number is a "place". */
export interface Floor {
  /** [places] the cell of each place. */
  readonly cells: Int16Array;
  /** [size × size] the place of each cell, or -1 at walls. */
  readonly places: Int16Array;
  /** `neighbours[4 × place + move]` is the place that the move leads to, or -1 at a wall. */
  readonly neighbours: Int16Array;
}

const wallCode = "#".charCodeAt(0);

/** Cached for the lifetime of the room object; an equal room read from JSON computes it again. */
export function floorOf(room: Room): Floor {
  const known = floors.get(room);
  if (known !== undefined) return known;
  const floor = numberFloor(room);
  floors.set(room, floor);
  return floor;
}

const floors = new WeakMap<Room, Floor>();

export function isWall(room: Room, cell: number): boolean {
  return room.walls.charCodeAt(cell) === wallCode;
}

function numberFloor(room: Room): Floor {
  const count = room.walls.length;
  const places = new Int16Array(count).fill(-1);
  const found = new Int16Array(count);
  let free = 0;
  for (let cell = 0; cell < count; cell++) {
    if (isWall(room, cell)) continue;
    places[cell] = free;
    found[free++] = cell;
  }
  const cells = found.subarray(0, free);
  return { cells, places, neighbours: placeNeighbours(room.size, cells, places) };
}

function placeNeighbours(size: number, cells: Int16Array, places: Int16Array): Int16Array {
  const table = neighbourTable(size);
  const neighbours = new Int16Array(4 * cells.length);
  for (let edge = 0; edge < neighbours.length; edge++) {
    const neighbour = table[4 * (cells[edge >> 2] ?? 0) + (edge & 3)] ?? -1;
    neighbours[edge] = neighbour < 0 ? -1 : (places[neighbour] ?? -1);
  }
  return neighbours;
}

// One move of the player: a step, or a push if a box is in the way. Cells, not places.

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

// The player's walking distances between pushes.

/** Steps from the player's cell to another without pushing; -1: unreachable. */
export function stepsBetween(room: Room, { at, boxes }: RoomPosition, to: number): number {
  const { cells, places, neighbours } = floorOf(room);
  const steps = new Int16Array(cells.length).fill(-1);
  const closed = -2;
  for (const box of boxes) steps[places[box] ?? 0] = closed;
  const goal = places[to] ?? -1;
  const queue = [places[at] ?? 0];
  steps[places[at] ?? 0] = 0;
  for (const place of queue) {
    if (place === goal) return steps[place] ?? -1;
    for (let move = 0; move < 4; move++) {
      const next = neighbours[4 * place + move] ?? -1;
      if (next < 0 || steps[next] !== -1) continue;
      steps[next] = (steps[place] ?? 0) + 1;
      queue.push(next);
    }
  }
  return -1;
}

// Every solvable position of a room with its number of moves: breadth-first search backwards from the solved positions,
// by walking and pulling. Positions that the search does not reach are dead, so deadlock detection is exact and needs
// no patterns (corner, frozen pair). It visits each combination of a player's place and a set of box places once.

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

// Shortest solutions: a canonical one, or one drawn at random.

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
