/**
 * Draws boards as in the paper (arXiv 2510.11062): each cell is blocked with a probability, start and goal are free
 * cells, different, and joined by a path; a draw that fails is repeated as a whole.
 */
import { TroupeError } from "../../errors.ts";
import type { Generator, Key } from "../../random.ts";
import { childKey, drawFloat, drawInt, generatorOf } from "../../random.ts";
import type { Split } from "../environment.ts";
import type { Board } from "./board.ts";
import { searchFrom } from "./board.ts";

export type PathTask = {
  readonly board: Board;
  readonly start: number;
};

export interface BoardOptions {
  readonly size: number;
  /** Probability that a cell is blocked. */
  readonly obstacles: number;
}

const mostDraws = 10_000;

/**
 * Longest shortest path of a task, in moves, so that the best plan fits into the seats' `maxTokens`. At the paper's
 * settings about one board in a million is longer (the paths of 10×10 boards average 8 moves).
 */
export function longestPath(size: number): number {
  return 4 * size - 4;
}

/** @throws TroupeError `bad_recipe` where the options leave practically no board with a path. */
export function drawTask(options: BoardOptions, split: Split, key: Key): PathTask {
  const generator = generatorOf(childKey(key, split));
  const blocked = new Uint8Array(options.size ** 2);
  const distances = new Int16Array(options.size ** 2);
  for (let draw = 0; draw < mostDraws; draw++) {
    const ends = drawBoard(generator, options, blocked);
    if (ends === undefined || splitOfCells(blocked, ends.goal) !== split) continue;
    searchFrom(ends.goal, options.size, blocked, distances);
    const length = distances[ends.start] ?? 0;
    if (length < 1 || length > longestPath(options.size)) continue;
    const walls = Array.from(blocked, (cell) => (cell === 1 ? "#" : ".")).join("");
    return { board: { size: options.size, walls, goal: ends.goal }, start: ends.start };
  }
  const { size, obstacles } = options;
  throw new TroupeError(
    "bad_recipe",
    `plan-path: no board with a path in ${mostDraws} draws (size ${size}, obstacles ${obstacles}); use fewer obstacles`,
  );
}

/**
 * The split a board belongs to, decided by its walls and its goal alone, never by a seed. The start is left out on
 * purpose: an episode moves it, and no state of a training episode may be a held-out task.
 */
export function splitOf(board: Board): Split {
  const blocked = Uint8Array.from(board.walls, (cell) => (cell === "#" ? 1 : 0));
  return splitOfCells(blocked, board.goal);
}

/** A quarter of all boards is held out. */
function splitOfCells(blocked: Uint8Array, goal: number): Split {
  let hash = Math.imul(0x811c9dc5 ^ goal, 0x01000193);
  for (let cell = 0; cell < blocked.length; cell++) {
    hash = Math.imul(hash ^ (blocked[cell] ?? 0) ^ (hash >>> 15), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) & 3) === 0 ? "heldOut" : "train";
}

/** Fills `blocked` and picks the ends among the free cells; undefined where fewer than two are free. */
function drawBoard(
  generator: Generator,
  options: BoardOptions,
  blocked: Uint8Array,
): { start: number; goal: number } | undefined {
  let free = 0;
  for (let cell = 0; cell < blocked.length; cell++) {
    const wall = drawFloat(generator) < options.obstacles ? 1 : 0;
    blocked[cell] = wall;
    free += 1 - wall;
  }
  if (free < 2) return undefined;
  const first = drawInt(generator, free);
  const second = drawInt(generator, free - 1);
  return {
    start: freeCell(blocked, first),
    goal: freeCell(blocked, second < first ? second : second + 1),
  };
}

function freeCell(blocked: Uint8Array, count: number): number {
  let left = count;
  for (let cell = 0; cell < blocked.length; cell++) if (blocked[cell] === 0 && left-- === 0) return cell;
  return -1;
}
