import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { mean } from "../../statistics.ts";
import type { Demonstration } from "../environment.ts";
import { layoutOf, uniqueSolution } from "./grid.ts";
import { cellOf, digitOf, entryOf, readEntries } from "./notation.ts";
import { splitOf } from "./generator.ts";
import { sudokuEnvironment } from "./test-grids.ts";

const both = ["proposer", "planner"];

function examples(demonstrations: object, count = 400, seats = both, options: object = {}): Demonstration[] {
  const environment = sudokuEnvironment({ ...options, demonstrations });
  const keys = Array.from({ length: count }, (_, index) => childKey(rootKey(1), index));
  return keys.flatMap((key) => environment.demonstrations?.(key, seats) ?? []);
}

/** The entries of the line that begins with the word; undefined: no such line. */
function lineOf({ observation }: Demonstration, word: string): readonly number[] | undefined {
  const line = observation.split("\n").find((each) => each.startsWith(`${word} `));
  return line === undefined ? undefined : readEntries(line.slice(word.length + 1), 4).items;
}

function gridWith(...entries: (readonly number[])[]): Uint8Array {
  const grid = new Uint8Array(16);
  for (const entry of entries.flat()) grid[cellOf(4, entry)] = digitOf(4, entry);
  return grid;
}

function cluesOf(example: Demonstration): Uint8Array {
  return gridWith(lineOf(example, "clues") ?? []);
}

function actionOf({ action }: Demonstration): readonly number[] {
  return readEntries(action, 4).items;
}

/** The planner's examples with a proposal, a share of them wrong. */
function plannersShown(wrongProposal: number): Demonstration[] {
  const all = examples({ wrongProposal, alone: 0, mistaken: 0, breakOff: 0.4 });
  return all.filter(({ seat }) => seat === "planner");
}

describe("a demonstration", () => {
  it("is of a training puzzle, and clears wrong entries before making right ones", () => {
    for (const example of examples({ mistaken: 0.5 })) {
      const clues = cluesOf(example);
      expect(splitOf(layoutOf(4), clues)).toBe("train");
      const solution = uniqueSolution(layoutOf(4), clues);
      const grid = gridWith(lineOf(example, "clues") ?? [], lineOf(example, "filled") ?? []);
      for (const entry of actionOf(example)) {
        const [cell, digit] = [cellOf(4, entry), digitOf(4, entry)];
        const right = solution?.[cell];
        const sound = digit === 0 ? grid[cell] !== right : grid[cell] === 0 && digit === right;
        expect(sound).toBe(true);
        grid[cell] = digit;
      }
    }
  });

  it("fills the whole grid unless it stops early", () => {
    const lengths = (breakOff: number): number[] =>
      examples({ breakOff, begun: 0 }).map((example) => actionOf(example).length);
    const whole = examples({ begun: 0 });
    for (const example of whole) {
      const clues = lineOf(example, "clues") ?? [];
      expect(actionOf(example)).toHaveLength(16 - clues.length);
    }
    // Geometric with 1/2: 2 on average; a standard error of .07.
    expect(mean(lengths(0.5))).toBeGreaterThan(1.7);
    expect(mean(lengths(0.5))).toBeLessThan(2.3);
    expect(Math.min(...lengths(1))).toBe(1);
    expect(Math.max(...lengths(1))).toBe(1);
  });

  it("comes in the requested shares", () => {
    const all = examples({ proposer: 0.25, alone: 0.5, mistaken: 0, refused: 0 }, 1000);
    const planners = all.filter(({ seat }) => seat === "planner");
    const alone = planners.filter((example) => lineOf(example, "proposed") === undefined);
    const shares = [planners.length / all.length, alone.length / planners.length];
    // Standard errors of about .015 and .02.
    expect(shares[0]).toBeCloseTo(0.75, 1);
    expect(shares[1]).toBeCloseTo(0.5, 1);
    expect(all.every((example) => lineOf(example, "refused") === undefined)).toBe(true);
  });

  it("shows the planner the proposal it follows, unless that is wrong", () => {
    for (const example of plannersShown(0)) expect(lineOf(example, "proposed")).toEqual(actionOf(example));
    for (const example of plannersShown(1))
      expect(lineOf(example, "proposed")).not.toEqual(actionOf(example));
  });

  it("reports rejected entries of open cells", () => {
    const all = examples({ refused: 1, mistaken: 0 });
    for (const example of all) {
      const [entry] = lineOf(example, "refused") ?? [];
      const grid = gridWith(lineOf(example, "clues") ?? [], lineOf(example, "filled") ?? []);
      expect(entry === undefined ? undefined : grid[cellOf(4, entry)]).toBe(0);
    }
  });

  it("is for the only requested seat, several positions of one puzzle", () => {
    const alone = examples({ positionsPerPuzzle: 5 }, 20, ["planner"], { plan: "steps" });
    expect(alone).toHaveLength(100);
    expect(alone.every(({ seat }) => seat === "planner")).toBe(true);
    expect(new Set(alone.slice(0, 5).map((example) => cluesOf(example).join())).size).toBe(1);
    const first = alone[0];
    expect(first?.action).toMatch(/^([a-d][1-4]) \1=[0-4]( |$)/);
    expect(entryOf(4, 1, 2)).toBe(7);
  });
});
