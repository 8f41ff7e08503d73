/** Tasks: their options, how they are drawn, which split they belong to, and the check of one from outside. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { childKey, drawFloat, drawInt, type Generator, generatorOf, type Key, mix32 } from "../../random.ts";
import { boardSchema, cellSchema, isStart } from "../grid/board-schema.ts";
import { blockedCells, type Board, searchFrom } from "../grid/board.ts";
import { largestSize } from "../grid/cells.ts";
import { splitOfHash } from "../held-out.ts";
import { breakOffShare, drawnAtOnce, share } from "../planning/demonstrations.ts";
import { programOptions } from "../programs/options.ts";
import type { GameSplit } from "../tasks.ts";
import { boardNotations, planNotations } from "./notation.ts";

// The options of Plan-Path in a recipe; the defaults are the paper's boards.

const shape = z.strictObject({
  size: z.int().min(3).max(largestSize).default(10).describe("Rows and columns."),
  obstacles: z.number().min(0).max(0.5).default(0.22).describe("Probability that a cell is blocked."),
  longestOf: drawnAtOnce.describe("Training episodes use the longest of this many drawn tasks."),
  notation: z.enum(boardNotations).default("list").describe("Notation of the board."),
  plan: z
    .enum(planNotations)
    .default("moves")
    .describe('Demonstrated plans: "right down", or with cells, "c4 right d4 down d5".'),
  scoutWalks: z
    .boolean()
    .optional()
    .describe("The scout's route also moves the agent, for a scout that plays alone."),
  programs: programOptions,
  demonstrations: z
    .strictObject({
      paths: z
        .enum(["random", "canonical"])
        .default("random")
        .describe("random: each shortest path is equally likely. canonical: up before down, left, right."),
      tasksPerBoard: drawnAtOnce.describe(
        "Tasks demonstrated per board; their shared prompt is computed once.",
      ),
      scout: share
        .default(0.5)
        .describe("Share of a team's examples for the scout; the others are for the planner."),
      breakOff: breakOffShare,
      bumped: share
        .default(0.5)
        .describe("Share of the examples that report a wall, if one blocks the straight line."),
      alone: share.default(0.25).describe("Share of a team's planner examples without a route."),
      wrongRoute: share.default(0.1).describe("Share of the routes shown that are wrong."),
    })
    .prefault({})
    .describe("Warm-start examples."),
});

export const pathOptions = shape.superRefine(({ scoutWalks, programs }, context) => {
  if (scoutWalks !== true || programs === undefined) return;
  const message = "without scoutWalks: a program moves nobody";
  context.addIssue({ code: "custom", path: ["programs"], message });
});

export type PathOptions = z.output<typeof pathOptions>;

// Draws boards as in the paper (arXiv 2510.11062): each cell is blocked with a probability; start and goal are
// different free cells connected by a path; a failed draw is repeated as a whole.

export type PathTask = {
  readonly board: Board;
  readonly start: number;
};

export interface BoardOptions {
  readonly size: number;
  /** Probability that a cell is blocked. */
  readonly obstacles: number;
  /** A training task has the longest path of this many draws; held-out tasks are a single draw. Absent: 1. */
  readonly longestOf?: number | undefined;
}

const mostDraws = 10_000;

/**
 * Longest shortest path of a task, in moves, so that the best plan fits the seats' `maxTokens`. With the paper's
 * settings less than one board in 100,000 is longer (paths of 10×10 boards average 7.5 moves).
 */
export function longestPath(size: number): number {
  return 4 * size - 4;
}

/** @throws TroupeError `bad_recipe` if the options leave practically no board with a path. */
export function drawTask(options: BoardOptions, split: GameSplit, key: Key): PathTask {
  const generator = generatorOf(childKey(key, split));
  const blocked = new Uint8Array(options.size ** 2);
  const candidates = split === "train" ? (options.longestOf ?? 1) : 1;
  const task = longest(candidates, mostDraws, () => {
    drawWalls(generator, options, blocked);
    return drawEnds(generator, options.size, split, blocked);
  });
  if (task !== undefined) return task;
  const { size, obstacles } = options;
  throw new TroupeError(
    "bad_recipe",
    `plan-path: no board with a path in ${mostDraws} draws (size ${size}, obstacles ${obstacles}); use fewer obstacles`,
  );
}

/** Up to `count` tasks of the split on the walls of one board, with their own starts and goals. */
export function drawTasksOn(board: Board, split: GameSplit, generator: Generator, count: number): PathTask[] {
  const blocked = blockedCells(board);
  const draw = (): Candidate | undefined => drawEnds(generator, board.size, split, blocked);
  const tasks = Array.from({ length: count }, () => longest(1, 100, draw));
  return tasks.filter((task) => task !== undefined);
}

interface Candidate {
  readonly task: PathTask;
  /** Moves from start to goal. */
  readonly length: number;
}

/** The task with the longest path among the first `candidates` valid draws; ties go to the first. */
function longest(candidates: number, draws: number, draw: () => Candidate | undefined): PathTask | undefined {
  let best: Candidate | undefined;
  for (let tried = 0, found = 0; tried < draws && found < candidates; tried++) {
    const candidate = draw();
    if (candidate === undefined) continue;
    found++;
    if (best === undefined || candidate.length > best.length) best = candidate;
  }
  return best?.task;
}

/**
 * The split of a board depends only on its walls and goal, never on a seed. It ignores the start because an episode
 * moves the agent, and no state of a training episode may be a held-out task.
 */
export function splitOf(board: Board): GameSplit {
  return splitOfCells(blockedCells(board), board.goal);
}

/** A quarter of all boards is held out. */
function splitOfCells(blocked: Uint8Array, goal: number): GameSplit {
  let hash = Math.imul(0x811c9dc5 ^ goal, 0x01000193);
  for (let cell = 0; cell < blocked.length; cell++) {
    hash = Math.imul(hash ^ (blocked[cell] ?? 0) ^ (hash >>> 15), 0x01000193);
  }
  return splitOfHash(mix32(hash));
}

function drawWalls(generator: Generator, options: BoardOptions, blocked: Uint8Array): void {
  for (let cell = 0; cell < blocked.length; cell++) {
    blocked[cell] = drawFloat(generator) < options.obstacles ? 1 : 0;
  }
}

/** Picks start and goal among the free cells; undefined if they are not a task of the split. */
function drawEnds(
  generator: Generator,
  size: number,
  split: GameSplit,
  blocked: Uint8Array,
): Candidate | undefined {
  const free = blocked.reduce((count, wall) => count + 1 - wall, 0);
  if (free < 2) return undefined;
  const first = drawInt(generator, free);
  const second = drawInt(generator, free - 1);
  const start = freeCell(blocked, first);
  const goal = freeCell(blocked, second < first ? second : second + 1);
  if (splitOfCells(blocked, goal) !== split) return undefined;
  const distances = new Int16Array(blocked.length);
  searchFrom(goal, size, blocked, distances);
  const length = distances[start] ?? 0;
  if (length < 1 || length > longestPath(size)) return undefined;
  const walls = Array.from(blocked, (cell) => (cell === 1 ? "#" : ".")).join("");
  return { task: { board: { size, walls, goal }, start }, length };
}

function freeCell(blocked: Uint8Array, count: number): number {
  let left = count;
  for (let cell = 0; cell < blocked.length; cell++) if (blocked[cell] === 0 && left-- === 0) return cell;
  return -1;
}

// Checks a task from outside.

export const pathTaskSchema = z
  .strictObject({ board: boardSchema, start: cellSchema })
  .refine(
    ({ board, start }) => isStart(board, start),
    "start: a cell that is not the goal, with a path to it",
  );
