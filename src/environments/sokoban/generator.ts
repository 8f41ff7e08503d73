/** Tasks: their options, how they are drawn, which split they belong to, and the check of one from outside. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { childKey, drawFloat, drawInt, type Generator, generatorOf, type Key, mix32 } from "../../random.ts";
import { neighbourTable } from "../grid/cells.ts";
import { splitOfHash } from "../held-out.ts";
import {
  aloneShare,
  breakOffShare,
  drawnAtOnce,
  proposerShare,
  share,
  wrongProposalShare,
} from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import type { GameSplit } from "../tasks.ts";
import { planNotations, roomNotations } from "./notation.ts";
import { decode, isWall, movesLeft, reachedPositions, type Room } from "./room.ts";

// The options of Sokoban in a recipe; the defaults are the paper's rooms.

/**
 * More boxes could not be pushed in a small room, and in a large one have too many positions for the exact solver: it
 * visits up to (size - 2)^(2 boxes + 2), limited to `mostPositions`.
 */
export function mostBoxes(size: number): number {
  if (size < 6) return 1;
  if (size < 9) return 3;
  return size < 15 ? 2 : 1;
}

export const sizes = { least: 5, most: 16 };

export const sokobanOptions = z
  .strictObject({
    size: z
      .int()
      .min(sizes.least)
      .max(sizes.most)
      .default(6)
      .describe("Rows and columns, outer walls included."),
    boxes: z
      .int()
      .min(1)
      .default(1)
      .describe("Boxes and goals: at most 1 at size 5, 3 at 6 to 8, 2 at 9 to 14, 1 at 15 and 16."),
    longestOf: drawnAtOnce.describe("Training episodes use the longest of this many drawn tasks."),
    notation: z.enum(roomNotations).default("list").describe("Notation of the room."),
    plan: z
      .enum(planNotations)
      .default("moves")
      .describe('Demonstrated plans: "right down", or with cells, "c4 right d4 down d5 d6".'),
    programs: programOptions,
    demonstrations: z
      .strictObject({
        startsPerRoom: drawnAtOnce.describe(
          "Positions demonstrated per room; their shared prompt is computed once.",
        ),
        proposer: proposerShare,
        breakOff: breakOffShare,
        bumped: share.default(0.25).describe("Share of the examples that report an illegal move."),
        alone: aloneShare,
        wrongProposal: wrongProposalShare(0.1),
      })
      .prefault({})
      .describe("Warm-start examples."),
  })
  .superRefine(({ size, boxes }, context) => {
    const most = mostBoxes(size);
    // An invalid size has its own error.
    if (size < sizes.least || size > sizes.most || boxes <= most) return;
    const message = `at most ${most} in rooms of size ${size}`;
    context.addIssue({ code: "custom", path: ["boxes"], message });
  });

export type SokobanOptions = z.output<typeof sokobanOptions>;

// The split of a room depends only on its floor and goals, never on a seed. It ignores player and boxes because an
// episode moves them, and no state of a training episode may be a held-out task. Rooms that are equal up to rotation,
// reflection and translation are the same room.

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
  /** Row, column, and 1 for goals, for each floor cell. */
  readonly cells: readonly (readonly [number, number, number])[];
}

/** The floor relative to its bounding rectangle. */
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

/** The room under one of the eight symmetries of the square, as a number that does not depend on the order of cells. */
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

/** Multiplied first, so that small numbers differ in many bits. Unsigned. */
function mix(word: number): number {
  return mix32(Math.imul(word + 1, 0x9e3779b1)) >>> 0;
}

// Draws solvable rooms: a random walk carves the floor (as in gym-sokoban, Schrader 2018, which AT-GRPO's rooms are
// made with), goals are drawn on it, and a search backwards from the solved room finds every solvable position. The
// start is uniform over those in which every box is at least two cells from a goal, as in AT-GRPO.

export type SokobanTask = {
  readonly room: Room;
  readonly at: number;
  /** Cells, ascending. */
  readonly boxes: readonly number[];
};

export interface RoomOptions {
  /** Rows and columns, including the outer walls. */
  readonly size: number;
  readonly boxes: number;
  /** A training task has the longest solution of this many draws; held-out tasks are a single draw. Absent: 1. */
  readonly longestOf?: number | undefined;
}

const mostDraws = 10_000;
/** Starts drawn in one room before another room is made. */
const startsTried = 20;
/** Least distance between a box and the nearest goal at the start, in cells. */
const nearest = 2;
/** The walk: how often it turns, and its steps per cell inside the walls (25 at 6×6). */
const walk = { turn: 0.35, perCell: 25 / 16 };

/** Longest solution of a task, in moves, so that the best plan fits the planner's `maxTokens`. */
export function longestSolution(size: number): number {
  return 4 * size;
}

/** @throws TroupeError `bad_recipe` if the options leave practically no solvable room. */
export function drawTask(options: RoomOptions, split: GameSplit, key: Key): SokobanTask {
  const generator = generatorOf(childKey(key, split));
  const candidates = split === "train" ? (options.longestOf ?? 1) : 1;
  let best: Candidate | undefined;
  for (let found = 0; found < candidates; found++) {
    const candidate = drawSolvable(generator, options, split);
    if (best === undefined || candidate.moves > best.moves) best = candidate;
  }
  if (best === undefined) throw new TroupeError("internal", "a task was drawn from no candidates");
  return best.task;
}

/** Starts in a given room, from any of its solvable, unsolved positions. */
export function drawStarts(room: Room, generator: Generator, count: number): SokobanTask[] {
  const pick = startPicker(room, generator);
  const tasks: SokobanTask[] = [];
  for (let tried = 0; tried < startsTried * count && tasks.length < count; tried++) {
    const candidate = pick();
    if (candidate.moves > 0 && candidate.moves <= longestSolution(room.size)) tasks.push(candidate.task);
  }
  return tasks;
}

interface Candidate {
  readonly task: SokobanTask;
  /** Length of the shortest solution. */
  readonly moves: number;
}

function drawSolvable(generator: Generator, options: RoomOptions, split: GameSplit): Candidate {
  for (let draw = 0; draw < mostDraws; draw++) {
    const room = drawRoom(generator, options);
    if (room === undefined || splitOf(room) !== split) continue;
    const pick = startPicker(room, generator);
    for (let tried = 0; tried < startsTried; tried++) {
      const candidate = pick();
      const fits = candidate.moves > 0 && candidate.moves <= longestSolution(options.size);
      if (fits && candidate.task.boxes.every((box) => isFar(room, box))) return candidate;
    }
  }
  const { size, boxes } = options;
  throw new TroupeError(
    "bad_recipe",
    `sokoban: no room that can be solved in ${mostDraws} draws (size ${size}, boxes ${boxes}); use a larger size or fewer boxes`,
  );
}

/** Distance to the nearest goal, ignoring walls. */
function isFar({ size, goals }: Room, box: number): boolean {
  return goals.every((goal) => {
    const rows = Math.abs(Math.floor(goal / size) - Math.floor(box / size));
    return rows + Math.abs((goal % size) - (box % size)) >= nearest;
  });
}

/** Uniform over all solvable positions of the room. */
function startPicker(room: Room, generator: Generator): () => Candidate {
  const { positions, reached } = reachedPositions(room);
  const { cells } = positions.floor;
  const boxes = new Int16Array(positions.boxes);
  return () => {
    const index = reached[drawInt(generator, Math.max(1, reached.length))] ?? 0;
    const at = cells[decode(cells.length, index, boxes)] ?? 0;
    const task = { room, at, boxes: Array.from(boxes, (place) => cells[place] ?? 0) };
    return { task, moves: reached.length === 0 ? 0 : (positions.moves[index] ?? 0) };
  };
}

/** Undefined if the walk left too little floor for boxes, a player and some space to move. */
function drawRoom(generator: Generator, { size, boxes }: RoomOptions): Room | undefined {
  const floor = carve(generator, size);
  const cells = [...floor.keys()].filter((cell) => floor[cell] === 1);
  if (cells.length < boxes + 3) return undefined;
  const goals = new Set<number>();
  while (goals.size < boxes) goals.add(cells[drawInt(generator, cells.length)] ?? 0);
  const walls = Array.from(floor, (free) => (free === 1 ? "." : "#")).join("");
  return { size, walls, goals: [...goals].toSorted((a, b) => a - b) };
}

/** [size × size], 1 on the floor: a random walk inside the walls, which also clears a cell next to each of its own. */
function carve(generator: Generator, size: number): Uint8Array {
  const floor = new Uint8Array(size * size);
  const table = neighbourTable(size);
  const inside = size - 2;
  let at = (1 + drawInt(generator, inside)) * size + 1 + drawInt(generator, inside);
  floor[at] = 1;
  let move = drawInt(generator, 4);
  for (let step = Math.ceil(walk.perCell * inside ** 2); step > 0; step--) {
    if (drawFloat(generator) < walk.turn) move = drawInt(generator, 4);
    const next = table[4 * at + move] ?? 0;
    if (isInside(next, size)) at = next;
    const beside = table[4 * at + drawInt(generator, 4)] ?? 0;
    for (const cell of [at, beside]) if (isInside(cell, size)) floor[cell] = 1;
  }
  return floor;
}

function isInside(cell: number, size: number): boolean {
  const row = Math.floor(cell / size);
  const column = cell % size;
  return row > 0 && row < size - 1 && column > 0 && column < size - 1;
}

// Checks a task from outside.

const cells = z.array(z.int().min(0)).min(1);

export const sokobanTaskSchema = z
  .strictObject({
    room: z
      .strictObject({
        size: z.int().min(sizes.least).max(sizes.most),
        walls: z.string().regex(/^[#.]*$/),
        goals: cells,
      })
      .refine(isWalled, "walls: one character for each cell, the outermost all walls")
      .refine((room) => room.goals.length <= mostBoxes(room.size), "goals: too many for the size")
      .refine((room) => areFree(room, room.goals), "goals: free cells, ascending"),
    at: z.int().min(0),
    boxes: cells,
  })
  .refine(
    ({ room, at, boxes }) =>
      boxes.length === room.goals.length &&
      areFree(room, boxes) &&
      areFree(room, [at]) &&
      !boxes.includes(at),
    "boxes: as many as there are goals, on free cells, ascending, and none where the player is",
  )
  .refine(({ room, at, boxes }) => movesLeft(room, at, boxes) > 0, "the room is solved, or it cannot be");

function isWalled(room: Room): boolean {
  const { size, walls } = room;
  const isOuter = (cell: number): boolean =>
    cell < size || cell >= size * (size - 1) || cell % size === 0 || cell % size === size - 1;
  return (
    walls.length === size * size && Array.from(walls).every((_, cell) => !isOuter(cell) || isWall(room, cell))
  );
}

function areFree(room: Room, places: readonly number[]): boolean {
  const ascending = places.every((cell, index) => index === 0 || cell > (places[index - 1] ?? 0));
  return ascending && places.every((cell) => cell < room.walls.length && !isWall(room, cell));
}
