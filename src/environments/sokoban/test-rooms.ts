/** Rooms for tests, hand-drawn or random. */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import type { Game } from "../game.ts";
import { createSokoban } from "./definition.ts";
import { drawTask, sokobanOptions, type SokobanTask } from "./generator.ts";
import type { SokobanState } from "./rules.ts";

/** Rows of "#", "-" floor, "." goal, "$" box, "*" box on a goal, "@" player, "+" player on a goal, spaces between. */
export function taskOf(drawing: string): SokobanTask {
  const rows = drawing.trim().split(/\s+/);
  const marks = rows.join("");
  const cellsWith = (wanted: string): number[] =>
    Array.from(marks, (mark, cell) => (wanted.includes(mark) ? cell : -1)).filter((cell) => cell >= 0);
  const walls = Array.from(marks, (mark) => (mark === "#" ? "#" : ".")).join("");
  const room = { size: rows.length, walls, goals: cellsWith(".*+") };
  return { room, at: cellsWith("@+")[0] ?? 0, boxes: cellsWith("$*") };
}

export function sokobanEnvironment(options: object = {}): Game<SokobanTask, SokobanState> {
  return createSokoban(sokobanOptions.parse(options));
}

/** Tasks of training; small rooms make coincidences likely. */
export const anyTask: fc.Arbitrary<SokobanTask> = fc
  .record({ seed: fc.nat(), size: fc.integer({ min: 6, max: 7 }), boxes: fc.integer({ min: 1, max: 2 }) })
  .map(({ seed, size, boxes }) => drawTask({ size, boxes }, "train", keyAt(rootKey(seed), "test")));

export const anyMoves: fc.Arbitrary<string[]> = fc.array(fc.constantFrom("up", "down", "left", "right"), {
  maxLength: 20,
});
