import { describe, expect, it } from "vitest";
import { keyAt, rootKey } from "../../random.ts";
import type { GameSplit } from "../tasks.ts";
import {
  canonicalBoard,
  completionsOf,
  drawTask,
  nearestCompletion,
  solutionsOf,
  splitOf,
} from "./generator.ts";
import { columnsOf } from "./notation.ts";
import { usual } from "./test-boards.ts";

/** A board rotated by a quarter, by definition: the queen at (row, column) goes to (column, last − row). */
function turned(board: string): string {
  const marks = Array.from(board, () => ".");
  columnsOf(board).forEach((column, row) => {
    if (column >= 0) marks[column] = String.fromCharCode(97 + board.length - 1 - row);
  });
  return marks.join("");
}

function mirrored(board: string): string {
  return Array.from(board).toReversed().join("");
}

describe("solutions", () => {
  it.each([
    [6, 4],
    [7, 40],
    [8, 92],
    [9, 352],
    [10, 724],
  ])("of size %i have the known number: %i", (size, count) => {
    const solutions = solutionsOf(size);
    expect(solutions).toHaveLength(count);
    expect(new Set(solutions).size).toBe(count);
  });

  it("hold no two queens in a column or on a diagonal", () => {
    for (const solution of solutionsOf(8)) {
      const columns = columnsOf(solution);
      expect(new Set(columns).size).toBe(8);
      expect(new Set(columns.map((column, row) => column + row)).size).toBe(8);
      expect(new Set(columns.map((column, row) => column - row)).size).toBe(8);
    }
  });

  it("are 12 up to rotation and reflection", () => {
    expect(new Set(solutionsOf(8).map(canonicalBoard)).size).toBe(12);
  });

  it("near a board count its queens that agree with them minus those that do not", () => {
    const task = { given: "a......." };
    expect(completionsOf(task)).toEqual(["aehfcgbd", "afhcgdbe", "agdfhbec", "agehbdfc"]);
    expect(nearestCompletion(task, "afhc....").value).toBe(3);
    expect(nearestCompletion(task, "afhb....")).toEqual({ solution: "afhcgdbe", value: 1 });
    expect(nearestCompletion(task, "a.......").value).toBe(0);
  });
});

describe("a split", () => {
  it("is the same for all eight rotations and reflections of a board", () => {
    for (let index = 0; index < 300; index++) {
      let { given } = drawTask(usual, "heldOut", keyAt(rootKey(1), index));
      for (let turn = 0; turn < 4; turn++) {
        given = turned(given);
        expect([splitOf(given), splitOf(mirrored(given))]).toEqual(["heldOut", "heldOut"]);
        expect(canonicalBoard(mirrored(given))).toBe(canonicalBoard(given));
      }
    }
  });

  it("shares no class of boards, of which 1,407 have 1 to 4 queens that can be completed", () => {
    const drawn = (["train", "heldOut"] as const).map(classesDrawn);
    const [train = new Set(), heldOut = new Set()] = drawn;
    expect([...heldOut].filter((form) => train.has(form))).toEqual([]);
    const all = allClasses();
    expect(all.size).toBe(1407);
    expect([...all].filter((board) => splitOf(board) === "heldOut")).toHaveLength(273);
    expect([...train, ...heldOut].filter((form) => !all.has(form))).toEqual([]);
  });

  it("with no board left is rejected", () => {
    const first = { size: 6, given: { least: 1, most: 1 } };
    expect(() => drawTask(first, "heldOut", rootKey(1))).toThrow(
      /no held-out board in 2000 draws .* give more queens/,
    );
  });
});

function classesDrawn(split: GameSplit): Set<string> {
  const boards = Array.from({ length: 2000 }, (_, index) => drawTask(usual, split, keyAt(rootKey(2), index)));
  return new Set(boards.map(({ given }) => canonicalBoard(given)));
}

function allClasses(): Set<string> {
  const classes = new Set<string>();
  for (const solution of solutionsOf(8)) {
    for (let rows = 0; rows < 256; rows++) {
      const board = Array.from(solution, (mark, row) => ((rows >> row) & 1 ? mark : ".")).join("");
      const queens = board.replaceAll(".", "").length;
      if (queens >= 1 && queens <= 4) classes.add(canonicalBoard(board));
    }
  }
  return classes;
}
