/** Boards for tests, drawn by hand or at random. */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import type { Game } from "../game.ts";
import { createPlanPath } from "./definition.ts";
import { drawTask, pathOptions, type PathTask } from "./generator.ts";
import type { PathState } from "./rules.ts";

/** Rows of "." free, "#" wall, "S" start and "G" goal, with spaces between the rows. */
export function taskOf(drawing: string): PathTask {
  const rows = drawing.trim().split(/\s+/);
  const cells = rows.join("");
  const board = { size: rows.length, walls: cells.replaceAll(/[SG]/g, "."), goal: cells.indexOf("G") };
  return { board, start: cells.indexOf("S") };
}

export function pathEnvironment(options: object = {}): Game<PathTask, PathState> {
  return createPlanPath(pathOptions.parse(options));
}

/** Tasks of training; small boards make coincidences likely. */
export const anyTask: fc.Arbitrary<PathTask> = fc
  .record({ seed: fc.nat(), size: fc.integer({ min: 3, max: 10 }), obstacles: fc.constantFrom(0, 0.22, 0.4) })
  .map(({ seed, size, obstacles }) => drawTask({ size, obstacles }, "train", keyAt(rootKey(seed), "test")));

export const anyMoves: fc.Arbitrary<string[]> = fc.array(fc.constantFrom("up", "down", "left", "right"), {
  maxLength: 30,
});
