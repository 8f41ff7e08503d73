/** The two halves of a lake and what has become of their walkers. */
import { type Board, distancesTo, isFree } from "../grid/board.ts";
import { cellNames, cellsByName, moveBetween } from "../grid/cells.ts";
import type { Half } from "./generate.ts";

export const walkers = ["red", "blue"] as const;
export type Walker = (typeof walkers)[number];

/** One half: the walker on it, and what it has been told by the other. */
export type Side = {
  /** The same object in every state of an episode, so that its distances are computed once. */
  readonly ice: Board;
  readonly start: number;
  /** Where the walker stands, or fell. */
  readonly at: number;
  readonly fell: boolean;
  /** The smallest distance to the goal at which a walk has ended. */
  readonly closest: number;
  /** What the other has said of this half, the last words of it. */
  readonly heard: readonly string[];
  /** Where the way that it was told leads, and the smallest distance that it has led to. */
  readonly told: { readonly to: number; readonly closest: number };
  /** The cells of the last walk, for people. */
  readonly path: readonly number[];
};

export type Sides = Readonly<Record<Walker, Side>>;

export function startSide({ ice, start }: Half): Side {
  const closest = distancesTo(ice)[start] ?? 0;
  return {
    ice,
    start,
    at: start,
    fell: false,
    closest,
    heard: [],
    told: { to: start, closest },
    path: [start],
  };
}

export function otherOf(walker: Walker): Walker {
  return walker === "red" ? "blue" : "red";
}

export function distanceFrom({ ice }: Pick<Side, "ice">, cell: number): number {
  return distancesTo(ice)[cell] ?? 0;
}

export function isAcross({ ice, at, fell }: Side): boolean {
  return at === ice.goal && !fell;
}

/** The share of the way that lies behind the walker; 0 for one that fell. */
export function shareBehind(side: Side): number {
  const whole = distanceFrom(side, side.start);
  return side.fell ? 0 : Math.max(0, whole - distanceFrom(side, side.at)) / whole;
}

/** What became of a walk, or would become of one that follows what is said. */
export interface Walked {
  readonly at: number;
  readonly fell: boolean;
  /** Cells from the first to the last, both included. */
  readonly path: readonly number[];
  readonly problem: string | undefined;
}

/**
 * Walks from cell to cell until the goal, or until the first cell that is not beside the last one (it is not entered), or
 * until the ice breaks. The cell where it begins may be named first.
 */
export function walk(ice: Board, from: number, cells: readonly number[]): Walked {
  const names = cellNames(ice.size);
  const path = [from];
  let at = from;
  const ended = (problem?: string): Walked => ({ at, fell: !isFree(ice, at), path, problem });
  for (const [index, cell] of cells.entries()) {
    if (index === 0 && cell === from) continue;
    if (at === ice.goal) return ended("continued after the goal");
    if (moveBetween(ice.size, at, cell) < 0)
      return ended(`${nameOf(names, cell)} is not beside ${names[at]}`);
    path.push((at = cell));
    if (!isFree(ice, cell)) return ended(`the ice broke at ${names[cell]}`);
  }
  return ended();
}

function nameOf(names: readonly string[], cell: number): string {
  return names[cell] ?? "a cell off the ice";
}

export function cellsOf(size: number, words: readonly string[]): number[] {
  const cells = cellsByName(size);
  return words.map((word) => cells.get(word) ?? -1);
}
