/** The value of messages. docs/environments.md and the recipes quote these numbers. */
import { describe, expect, it } from "vitest";
import { neighbourTable } from "../grid/cells.ts";
import type { GameSplit } from "../tasks.ts";
import { writeAction } from "./notation.ts";
import { outcomeOf, startState, stepState } from "./rules.ts";
import {
  allHalves,
  bestWalk,
  blindSuccess,
  countHalves,
  halfOf,
  optionsOf,
  type Ends,
} from "./test-blind.ts";

const options = optionsOf();
/** 3 thin cells of 9, and paths of 2 to 4 cells: small enough for an exhaustive search. */
const small = optionsOf({ size: 3, thin: 3, distance: { least: 2, most: 4 } });

describe("a walker without messages", () => {
  it.each<[GameSplit, number, number]>([
    ["train", 62_933, 0.3427],
    ["validation", 5246, 0.3931],
    ["heldOut", 15_629, 0.3703],
  ])("crosses of all %s halves, %i, at most a share of %d", (split, halves, share) => {
    const ends = allHalves(options, split);
    expect(countHalves(ends)).toBe(halves);
    expect(blindSuccess(options.size, ends)).toBeCloseTo(share, 4);
  });

  it("does not get further by going back", () => {
    for (const ends of allHalves(small, "train")) {
      expect(bestWalk(3, ends).crossed).toBe(mostByAnyWalk(ends, ends.start, ends.thin, 8));
    }
  });

  it("crosses by the rules what the search says if the other needs no help: the seat `partial`", () => {
    const blue = halfOf("S.G ... ...");
    for (const ends of allHalves(small, "train")) {
      const { crossed, path } = bestWalk(3, ends);
      const action = writeAction(3, { red: path.slice(1), blue: [1, 2] });
      const successes = ends.thin.filter((thin) => {
        const walls = Array.from({ length: 9 }, (_, cell) => (thin & (1 << cell) ? "#" : ".")).join("");
        const red = { ice: { size: 3, walls, goal: ends.goal }, start: ends.start };
        const { state } = stepState(3, startState({ red, blue }), { partial: action });
        return outcomeOf(state).success;
      });
      expect(successes).toHaveLength(crossed);
    }
  });
});

/** Like the search, but with every sequence of moves, including those that come back. */
function mostByAnyWalk(ends: Ends, at: number, held: readonly number[], moves: number): number {
  if (at === ends.goal) return held.length;
  if (moves === 0) return 0;
  const next = Array.from(neighbourTable(3).subarray(4 * at, 4 * at + 4)).filter((cell) => cell >= 0);
  return Math.max(
    ...next.map((cell) => {
      const still = held.filter((thin) => (thin & (1 << cell)) === 0);
      return mostByAnyWalk(ends, cell, still, moves - 1);
    }),
  );
}
