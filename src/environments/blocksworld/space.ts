/** All arrangements of some number of blocks, and the fewest moves between any two: breadth-first search. */
import { drawInt, type Generator } from "../../random.ts";
import { afterMove, type Move, placeFor, problemOf, table, type Towers } from "./notation.ts";

export interface Space {
  readonly blocks: number;
  /** Every arrangement. */
  readonly all: readonly Towers[];
  /** Index in `all`, by `codeOf`. */
  readonly numbers: Int32Array;
  /** For each arrangement the numbers of those one move away. Moves can be undone, so this is symmetric. */
  readonly neighbours: readonly Int32Array[];
  /** For each goal requested so far, the distance from every arrangement. */
  readonly distances: Map<number, Int8Array>;
}

export const mostBlocks = 7;
/** Bytes of distances kept before the cache is cleared; they can be searched again. */
const mostKept = 2 ** 25;

export function spaceOf(blocks: number): Space {
  const known = spaces.get(blocks);
  if (known !== undefined) return known;
  const space = enumerate(blocks);
  spaces.set(blocks, space);
  return space;
}

const spaces = new Map<number, Space>();

/** The fewest moves from one to the other. */
export function movesBetween(on: Towers, goal: Towers): number {
  const space = spaceOf(goal.length);
  const distances = distancesTo(space, space.numbers[codeOf(goal)] ?? 0);
  return distances[space.numbers[codeOf(on)] ?? 0] ?? 0;
}

function distancesTo(space: Space, goal: number): Int8Array {
  const known = space.distances.get(goal);
  if (known !== undefined) return known;
  if (space.distances.size * space.all.length > mostKept) space.distances.clear();
  const distances = searchFrom(space, goal);
  space.distances.set(goal, distances);
  return distances;
}

function searchFrom({ all, neighbours }: Space, goal: number): Int8Array {
  const distances = new Int8Array(all.length).fill(-1);
  const queue = new Int32Array(all.length);
  distances[goal] = 0;
  queue[0] = goal;
  let waiting = 1;
  for (let visited = 0; visited < waiting; visited++) {
    const number = queue[visited] ?? 0;
    for (const next of neighbours[number] ?? []) {
      if (distances[next] !== -1) continue;
      distances[next] = (distances[number] ?? 0) + 1;
      queue[waiting++] = next;
    }
  }
  return distances;
}

/** Mixed radix: what each block is on, with the table as 0. */
function codeOf(on: Towers): number {
  let code = 0;
  for (let block = on.length - 1; block >= 0; block--) code = code * (on.length + 1) + (on[block] ?? 0) + 1;
  return code;
}

/** Every arrangement is reachable from all blocks on the table. */
function enumerate(blocks: number): Space {
  const numbers = new Int32Array((blocks + 1) ** blocks).fill(-1);
  const all: Towers[] = [];
  const neighbours: Int32Array[] = [];
  const numberOf = (on: Towers): number => {
    const code = codeOf(on);
    if (numbers[code] === -1) numbers[code] = all.push(on) - 1;
    return numbers[code] ?? 0;
  };
  numberOf(Array.from({ length: blocks }, () => table));
  // `all` grows during the iteration.
  for (const on of all) neighbours.push(Int32Array.from(waysFrom(on), numberOf));
  return { blocks, all, numbers, neighbours, distances: new Map() };
}

function waysFrom(on: Towers): Towers[] {
  const ways: Towers[] = [];
  for (let block = 0; block < on.length; block++) {
    for (let to = table; to < on.length; to++) {
      const move = { block, to };
      if (problemOf(on, move) === undefined) ways.push(afterMove(on, move));
    }
  }
  return ways;
}

// Shortest plans: a canonical one, or one drawn at random.

/** Canonical: of several optimal moves, that of the first block in the alphabet. */
export function canonicalPlan(on: Towers, goal: Towers): Move[] {
  return descend(on, goal, (moves) => moves[0]);
}

/** At every move each optimal block is equally likely. */
export function randomPlan(on: Towers, goal: Towers, generator: Generator): Move[] {
  return descend(on, goal, (moves) => moves[drawInt(generator, moves.length)]);
}

function descend(on: Towers, goal: Towers, choose: (moves: readonly Move[]) => Move | undefined): Move[] {
  const plan: Move[] = [];
  let here = on;
  for (let left = movesBetween(on, goal); left > 0; left--) {
    const move = choose(bestMoves(here, goal, left));
    if (move === undefined) break;
    plan.push(move);
    here = afterMove(here, move);
  }
  return plan;
}

/** The blocks whose move to their place or to the table leaves one move fewer. */
function bestMoves(on: Towers, goal: Towers, left: number): Move[] {
  return on
    .map((_, block) => ({ block, to: placeFor(on, goal, block) }))
    .filter(
      (move) => problemOf(on, move) === undefined && movesBetween(afterMove(on, move), goal) === left - 1,
    );
}
