/** Tasks for tests, in a short notation or random. */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import type { Game } from "../game.ts";
import { createBlocksworld } from "./definition.ts";
import { blocksOptions, type BlocksTask, drawTask } from "./generator.ts";
import type { BlocksState } from "./rules.ts";
import { table, type Towers } from "./notation.ts";

/** "abc de": two towers, each from the table up. */
export function towersOf(drawing: string): Towers {
  const on: number[] = [];
  for (const tower of drawing.split(" ")) {
    const blocks = Array.from(tower, (letter) => letter.charCodeAt(0) - 97);
    blocks.forEach((block, height) => (on[block] = blocks[height - 1] ?? table));
  }
  return on;
}

export function taskOf(now: string, goal: string): BlocksTask {
  return { goal: towersOf(goal), on: towersOf(now) };
}

export function blocksEnvironment(options: object = {}): Game<BlocksTask, BlocksState> {
  return createBlocksworld(blocksOptions.parse(options));
}

export const anyTask: fc.Arbitrary<BlocksTask> = fc
  .record({ seed: fc.nat(), blocks: fc.integer({ min: 3, max: 5 }) })
  .map(({ seed, blocks }) => drawTask({ blocks }, "train", keyAt(rootKey(seed), "test")));

const blocks = ["a", "b", "c", "d", "e"];

/** Moves among five blocks, many of them impossible. */
export const anyPlan: fc.Arbitrary<string> = fc
  .array(fc.tuple(fc.constantFrom(...blocks), fc.constantFrom(...blocks, "table")), { maxLength: 14 })
  .map((moves) => moves.map(([block, to]) => `move ${block} ${to}`).join(" "));
