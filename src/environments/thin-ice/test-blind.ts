/**
 * What a walker without messages can reach, by exhaustive search: it knows the distribution of lakes and its own start
 * and goal, and learns on its way only that the ice has held so far.
 */
import * as fc from "fast-check";
import { keyAt, rootKey } from "../../random.ts";
import { distancesTo } from "../grid/board.ts";
import { neighbourTable } from "../grid/cells.ts";
import type { GameSplit } from "../tasks.ts";
import {
  isWithin,
  splitOf,
  drawTask,
  iceOptions,
  type HalfOptions,
  type Half,
  type IceOptions,
  type IceTask,
} from "./generator.ts";

/** All halves with the same start and goal. */
export interface Ends {
  readonly start: number;
  readonly goal: number;
  /** The thin cells of each half: bit 0 is cell 0. */
  readonly thin: readonly number[];
}

const known = new Map<string, readonly Ends[]>();

/** Every half of a split, once; at most 25 cells, to fit the bits of a number. */
export function allHalves(options: HalfOptions, split: GameSplit): readonly Ends[] {
  const key = JSON.stringify([options, split]);
  const found = known.get(key) ?? searchHalves(options, split);
  known.set(key, found);
  return found;
}

function searchHalves(options: HalfOptions, split: GameSplit): Ends[] {
  const byEnds = new Map<number, { start: number; goal: number; thin: number[] }>();
  const cells = options.size ** 2;
  for (const thin of subsets(cells, options.thin)) {
    const walls = Array.from({ length: cells }, (_, cell) => (has(thin, cell) ? "#" : ".")).join("");
    for (let goal = 0; goal < cells; goal++) {
      const ice = { size: options.size, walls, goal };
      if (has(thin, goal) || splitOf(ice) !== split) continue;
      for (const start of distancesTo(ice).keys()) {
        if (!isWithin(options, { ice, start })) continue;
        const ends = byEnds.get(start * cells + goal) ?? { start, goal, thin: [] };
        byEnds.set(start * cells + goal, ends);
        ends.thin.push(thin);
      }
    }
  }
  return [...byEnds.values()];
}

export function countHalves(ends: readonly Ends[]): number {
  return ends.reduce((sum, { thin }) => sum + thin.length, 0);
}

/** The best share of halves that a walker without messages can cross. */
export function blindSuccess(size: number, ends: readonly Ends[]): number {
  const crossed = ends.map((each) => bestWalk(size, each).crossed);
  return crossed.reduce((sum, count) => sum + count, 0) / countHalves(ends);
}

/** A path to the goal, and the number of halves in which its ice holds. */
export interface BlindWalk {
  readonly crossed: number;
  /** Cells from the first to the last, both included. */
  readonly path: readonly number[];
}

/** The walk that crosses most of the halves with the same start and goal. */
export function bestWalk(size: number, { start, goal, thin }: Ends): BlindWalk {
  return walkOn(size, goal, [start], thin);
}

/**
 * The best continuation of a path. All that the walker knows is the path and the halves in which its ice has held.
 * Going back is useless: it learns nothing there.
 */
function walkOn(size: number, goal: number, path: readonly number[], held: readonly number[]): BlindWalk {
  const at = path.at(-1) ?? 0;
  if (at === goal) return { crossed: held.length, path };
  let best: BlindWalk = { crossed: 0, path };
  for (let move = 0; move < 4; move++) {
    const next = neighbourTable(size)[4 * at + move] ?? -1;
    if (next < 0 || path.includes(next)) continue;
    const still = held.filter((thin) => !has(thin, next));
    // No continuation crosses more halves than it begins with.
    if (still.length <= best.crossed) continue;
    const walk = walkOn(size, goal, [...path, next], still);
    if (walk.crossed > best.crossed) best = walk;
  }
  return best;
}

function has(cells: number, cell: number): boolean {
  return (cells & (1 << cell)) !== 0;
}

/** All sets of `count` of `cells` cells. */
function subsets(cells: number, count: number): number[] {
  const all = Array.from({ length: 2 ** cells }, (_, set) => set);
  return all.filter((set) => Array.from(set.toString(2).replaceAll("0", "")).length === count);
}

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
