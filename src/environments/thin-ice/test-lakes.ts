/** Lakes for tests, hand-drawn or random. */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import { drawTask, type Half, iceOptions, type IceOptions, type IceTask } from "./generator.ts";

/** Rows of "." firm and "#" thin ice, "S" start and "G" goal, with spaces between the rows. */
export function halfOf(drawing: string): Half {
  const rows = drawing.trim().split(/\s+/);
  const cells = rows.join("");
  const ice = { size: rows.length, walls: cells.replaceAll(/[SG]/g, "."), goal: cells.indexOf("G") };
  return { ice, start: cells.indexOf("S") };
}

/** Red walks 4 cells (a2 a3 b3 c3) around b2, blue 6 (b3 c3 c2 c1 b1 a1) around a2 and b2. */
export const lake: IceTask = { red: halfOf("S.# .#. ..G"), blue: halfOf("G.. ##. S..") };

export function optionsOf(options: object = {}): IceOptions {
  return iceOptions.parse(options);
}

export const anyTask: fc.Arbitrary<IceTask> = fc
  .nat()
  .map((seed) => drawTask(optionsOf(), "train", keyAt(rootKey(seed), "test")));

const cells = Array.from({ length: 16 }, (_, cell) => `${"abcd"[cell % 4]}${Math.floor(cell / 4) + 1}`);

/** What a seat of the team may write: arbitrary text, a step, a jump, truth and lies. */
export const anyWords: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...cells, "none", "thin", "to"), { maxLength: 5 })
  .map((words) => words.join(" "));
