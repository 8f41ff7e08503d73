/** Tasks: their options, how they are drawn, which split they belong to, and the check of one from outside. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { childKey, drawInt, type Generator, generatorOf, type Key, mix32, shuffled } from "../../random.ts";
import { boardSchema, cellSchema, isStart } from "../grid/board-schema.ts";
import { type Board, distancesTo } from "../grid/board.ts";
import { splitOfHash } from "../held-out.ts";
import { breakOffShare, drawnAtOnce, share } from "../planning/demonstrations.ts";
import type { GameSplit } from "../tasks.ts";

// The options of Thin Ice in a recipe.

/** Larger lakes need names of cells that no word-level model needs. */
const largestHalf = 10;

export const iceOptions = z
  .strictObject({
    size: z.int().min(3).max(largestHalf).default(4).describe("Rows and columns of each half."),
    thin: z.int().min(1).default(7).describe("Cells of thin ice in each half."),
    distance: z
      .strictObject({
        least: z.int().min(1).default(4).describe("Minimum length of the shortest safe path in each half."),
        most: z.int().min(1).default(6).describe("Maximum length of that path."),
      })
      .prefault({})
      .describe("Length of the path."),
    messages: z
      .union([z.literal(false), z.int().min(1).max(12)])
      .default(3)
      .describe("Maximum words of a message; false: no messages."),
    sees: z
      .enum(["other", "own"])
      .default("other")
      .describe("Whose thin ice a seat of the team sees. own: needs `messages: false`."),
    demonstrations: z
      .strictObject({
        viewsPerHalf: drawnAtOnce.describe(
          "Positions demonstrated per half; their shared prompt is computed once.",
        ),
        breakOff: breakOffShare,
        begun: share.default(0.6).describe("Share of the examples from the middle of an episode."),
      })
      .prefault({})
      .describe("Warm-start examples."),
  })
  .refine(({ size, thin }) => thin <= size * size - 2, {
    path: ["thin"],
    error: "leaves no room for a start and a goal",
  })
  .refine(({ sees, messages }) => sees === "other" || messages === false, {
    path: ["messages"],
    error: "must be false with `sees: own`, which leaves nothing to tell",
  })
  .refine(({ distance }) => distance.least <= distance.most, {
    path: ["distance", "most"],
    error: "is below `distance.least`",
  });

export type IceOptions = z.output<typeof iceOptions>;

// Draws lakes of two halves. Every half that the options allow (thin cells, start and goal) is equally likely, and the
// halves of a task are independent: one reveals nothing about the other.

/** What one walker has to cross. The board's walls are the thin ice. */
export type Half = {
  readonly ice: Board;
  readonly start: number;
};

export type IceTask = {
  /** The half that red walks on and blue sees. */
  readonly red: Half;
  readonly blue: Half;
};

export type HalfOptions = Pick<IceOptions, "size" | "thin" | "distance">;

const mostDraws = 100_000;

export function drawTask(options: HalfOptions, split: GameSplit, key: Key): IceTask {
  const generator = generatorOf(childKey(key, split));
  return { red: drawHalf(options, split, generator), blue: drawHalf(options, split, generator) };
}

/** @throws TroupeError `bad_recipe` if the options leave practically no half that can be crossed. */
export function drawHalf(options: HalfOptions, split: GameSplit, generator: Generator): Half {
  for (let draws = 0; draws < mostDraws; draws++) {
    const half = drawAny(options, generator);
    if (splitOf(half.ice) === split && isWithin(options, half)) return half;
  }
  const { size, thin, distance } = options;
  throw new TroupeError(
    "bad_recipe",
    `thin-ice: no half with a path of ${distance.least} to ${distance.most} cells in ${mostDraws} draws ` +
      `(size ${size}, thin ${thin}); use fewer thin cells or other distances`,
  );
}

/** More starts on the ice of a half, uniform over those that the distances allow. */
export function drawStarts(options: HalfOptions, { ice }: Half, generator: Generator, count: number): Half[] {
  const starts = Array.from({ length: ice.size ** 2 }, (_, start) => ({ ice, start }));
  const allowed = starts.filter((half) => isWithin(options, half));
  return Array.from({ length: count }, () => allowed[drawInt(generator, allowed.length)] as Half);
}

export function isWithin({ distance }: HalfOptions, { ice, start }: Half): boolean {
  const length = distancesTo(ice)[start] ?? 0;
  return length >= distance.least && length <= distance.most;
}

/**
 * The split of a half depends only on its thin ice and goal, never on a seed: a quarter is held out, and both halves of
 * a task are of its split. It ignores the start because an episode moves the walker, and no half of a training episode
 * may be one of a held-out task.
 */
export function splitOf({ walls, goal }: Board): GameSplit {
  let hash = Math.imul(0x811c9dc5 ^ goal, 0x01000193);
  for (const cell of walls) hash = Math.imul(hash ^ (cell === "#" ? 1 : 0) ^ (hash >>> 15), 0x01000193);
  return splitOfHash(mix32(hash));
}

function drawAny({ size, thin }: HalfOptions, generator: Generator): Half {
  const cells = Array.from({ length: size * size }, (_, cell) => cell);
  const [start = 0, goal = 0, ...others] = shuffled(generator, cells);
  const cracked = new Set(others.slice(0, thin));
  const walls = cells.map((cell) => (cracked.has(cell) ? "#" : ".")).join("");
  return { ice: { size, walls, goal }, start };
}

// Checks a task from outside.

const halfSchema = z
  .strictObject({ ice: boardSchema, start: cellSchema })
  .refine(
    ({ ice, start }) => isStart(ice, start),
    "start: a cell that is not the goal, with a safe path to it",
  );

export const iceTaskSchema = z
  .strictObject({ red: halfSchema, blue: halfSchema })
  .refine(({ red, blue }) => red.ice.size === blue.ice.size, "blue: a half as large as red's");
