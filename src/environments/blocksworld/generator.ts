/** Tasks: their options, how they are drawn, which split they belong to, and the check of one from outside. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { childKey, drawInt, type Generator, generatorOf, type Key, mix32 } from "../../random.ts";
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
import { listTowers, sameTowers, table, type Towers } from "./notation.ts";
import { mostBlocks, movesBetween, spaceOf } from "./space.ts";

// The options of Blocksworld in a recipe.

export const blocksOptions = z.strictObject({
  blocks: z.int().min(3).max(mostBlocks).default(5).describe("Number of blocks."),
  longestOf: drawnAtOnce.describe("Training episodes use the longest of this many drawn tasks."),
  programs: programOptions,
  demonstrations: z
    .strictObject({
      startsPerGoal: drawnAtOnce.describe(
        "Starts demonstrated per goal; their shared prompt is computed once.",
      ),
      proposer: proposerShare,
      breakOff: breakOffShare,
      failed: share.default(0.1).describe("Share of the examples that report an illegal move."),
      alone: aloneShare,
      wrongProposal: wrongProposalShare(0.1),
    })
    .prefault({})
    .describe("Warm-start examples."),
});

export type BlocksworldOptions = z.output<typeof blocksOptions>;

// Draws tasks: start and goal are uniform over all arrangements of the blocks.

export type BlocksTask = {
  readonly goal: Towers;
  readonly on: Towers;
};

export interface BlocksOptions {
  readonly blocks: number;
  /** A training task has the longest plan of this many draws; held-out tasks are a single draw. Absent: 1. */
  readonly longestOf?: number | undefined;
}

const mostDraws = 10_000;

/** Bound on shortest plans: every block goes to the table, then to its place. */
export function longestPlan(blocks: number): number {
  return 2 * blocks;
}

export function drawTask({ blocks, longestOf }: BlocksOptions, split: GameSplit, key: Key): BlocksTask {
  const generator = generatorOf(childKey(key, split));
  const candidates = split === "train" ? (longestOf ?? 1) : 1;
  const tasks = Array.from({ length: candidates }, () =>
    drawOf(split, () => ({ goal: drawTowers(blocks, generator), on: drawTowers(blocks, generator) })),
  );
  return tasks.reduce((best, task) => (movesOf(task) > movesOf(best) ? task : best));
}

/** More starts for one goal. */
export function drawStarts(
  goal: Towers,
  split: GameSplit,
  generator: Generator,
  count: number,
): BlocksTask[] {
  return Array.from({ length: count }, () =>
    drawOf(split, () => ({ goal, on: drawTowers(goal.length, generator) })),
  );
}

/** Repeats the draw until the task belongs to the split; every goal has starts in both. */
function drawOf(split: GameSplit, draw: () => BlocksTask): BlocksTask {
  for (let tried = 0; tried < mostDraws; tried++) {
    const task = draw();
    if (movesOf(task) > 0 && splitOf(task) === split) return task;
  }
  throw new TroupeError("bad_recipe", `blocksworld: no ${split} task in ${mostDraws} draws; use more blocks`);
}

function movesOf({ goal, on }: BlocksTask): number {
  return movesBetween(on, goal);
}

function drawTowers(blocks: number, generator: Generator): Towers {
  const { all } = spaceOf(blocks);
  return all[drawInt(generator, all.length)] ?? [];
}

/**
 * The split of a task depends only on its start and goal, never on a seed; tasks that differ only in the names of their
 * blocks are the same. A quarter of all tasks is held out.
 *
 * Colour refinement (Weisfeiler and Leman 1968): a block is described by what is beneath and above it in start and
 * goal, repeatedly. Tasks equal up to names get equal descriptions; the converse is not needed.
 */
export function splitOf({ goal, on }: BlocksTask): GameSplit {
  const sides = [on, goal, aboveOf(on), aboveOf(goal)];
  let colours = on.map(() => 1);
  for (let round = 0; round < on.length; round++) {
    colours = colours.map((colour, block) =>
      sides.reduce((mixed, side) => mix(mixed, colours[side[block] ?? table] ?? 0), colour),
    );
  }
  const sum = colours.reduce((total, colour) => (total + mix(colour, 7)) >>> 0, 0);
  return splitOfHash(mix(sum, 1));
}

/** What is on each block; `table` for nothing. */
function aboveOf(on: Towers): number[] {
  return on.map((_, block) => on.indexOf(block));
}

/** Unsigned. */
function mix(one: number, other: number): number {
  return mix32(Math.imul(one ^ 0x9e3779b9, 0x85ebca6b) + other) >>> 0;
}

// Checks a task from outside.

const towers = z
  .array(z.int().min(table))
  .min(3)
  .max(7)
  .refine(
    areTowers,
    "for each block what is beneath it: another block, which bears no third, or -1 for the table",
  );

export const blocksTaskSchema = z
  .strictObject({ goal: towers, on: towers })
  .refine(
    ({ goal, on }) => goal.length === on.length && !sameTowers(on, goal),
    "on: as many blocks as in the goal, standing otherwise",
  );

/** Every block is in a tower that starts on the table. */
function areTowers(on: Towers): boolean {
  const beneath = on.filter((block) => block !== table);
  if (new Set(beneath).size < beneath.length || beneath.some((block) => block >= on.length)) return false;
  return listTowers(on).flat().length === on.length;
}
