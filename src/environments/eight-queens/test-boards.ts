/** Boards for tests. */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import type { Game } from "../game.ts";
import { createEightQueens } from "./definition.ts";
import { drawTask, queensOptions, type QueensTask } from "./generator.ts";
import type { QueensState } from "./rules.ts";

export function queensEnvironment(options: object = {}): Game<QueensTask, QueensState> {
  return createEightQueens(queensOptions.parse(options));
}

export const usual = { size: 8, given: { least: 1, most: 4 } } as const;

export const anyTask: fc.Arbitrary<QueensTask> = fc
  .nat()
  .map((seed) => drawTask(usual, "train", keyAt(rootKey(seed), "test")));
