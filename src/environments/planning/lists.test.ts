/** Lists in the notations of published systems, which games read beside their own notation. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import * as blocks from "../blocksworld/notation.ts";
import { blocksEnvironment } from "../blocksworld/test-blocks.ts";
import { completionsOf } from "../eight-queens/generator.ts";
import * as queens from "../eight-queens/notation.ts";
import { readPlan as readQueensPlan } from "../eight-queens/rules.ts";
import { anyTask as anyBoard, queensEnvironment } from "../eight-queens/test-boards.ts";
import type { Json } from "../environment.ts";
import type { Game } from "../game.ts";
import * as sudoku from "../sudoku/notation.ts";
import { readPlan as readSudokuPlan } from "../sudoku/rules.ts";
import { anyTask as anyPuzzle, sudokuEnvironment, taskOf as puzzleOf } from "../sudoku/test-grids.ts";

interface Read {
  readonly items: readonly unknown[];
  readonly wellFormed: boolean;
}

interface Reader {
  readonly game: Game;
  readonly read: (text: string) => Read;
  readonly list: string;
  /** Another list, of which only the end of the text is left. */
  readonly earlier: string;
  /** A plan in our own notation, and how such plans are read alone. */
  readonly own: string;
  readonly readOwn: (text: string) => Read;
  readonly words: readonly string[];
  /** Bound on the items that are read. */
  readonly long: readonly [text: string, most: number];
}

const puzzle = puzzleOf("1... .4.. .14. ..2.");
const board = { size: 8, given: "a......." };

const readers: Readonly<Record<string, Reader>> = {
  sudoku: {
    game: sudokuEnvironment(),
    read: (text) => readSudokuPlan(puzzle, puzzle.clues, text),
    list: "[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]",
    earlier: "[[0,1,3]]",
    own: "b1=3",
    readOwn: (text) => sudoku.readEntries(text, 4),
    words: sudoku.notationWords(4),
    long: [`[${"[0,1,2],".repeat(1000)}[0,1,2]]`, 32],
  },
  "eight-queens": {
    game: queensEnvironment(),
    read: (text) => readQueensPlan(board, board.given, text),
    list: "[0, 5, 7, 2, 6, 3, 1, 4]",
    earlier: "[0, 1, 2, 3, 4, 5, 6, 7]",
    own: "f2 h3",
    readOwn: (text) => queens.readQueens(text, 8),
    words: queens.notationWords(8),
    long: ["f2 ".repeat(1000), 16],
  },
  blocksworld: {
    game: blocksEnvironment(),
    read: (text) => blocks.readPlan(text, 3),
    list: '[{"move": ["C", "table"]}, {"move": ["B", "A"]}]',
    earlier: '[{"move": ["a", "table"]}]',
    own: "move a b",
    readOwn: (text) => blocks.readMoves(text, 3),
    words: blocks.notationWords(3),
    long: [`[${'{"move": ["a", "b"]},'.repeat(500)}]`, 256],
  },
};

describe.each(Object.entries(readers))(
  "a list of %s",
  (_, { game, read, list, earlier, own, readOwn, ...rest }) => {
    it.each<[string, (list: string) => string, boolean]>([
      ["alone", (text) => text, true],
      ["after its mark", (text) => `Row 1 lacks 2, 3 and 4.\n#### ${text}`, true],
      ["after the tool's mark", (text) => `**Actions List**: ${text}\n`, true],
      ["after the shorter mark", (text) => `Actions: ${text}`, true],
      ["over several lines", (text) => JSON.stringify(JSON.parse(text), null, 2), true],
      ["in a code fence", (text) => `It is this:\n\`\`\`json\n${text}\n\`\`\`\n`, true],
      ["after the thinking", (text) => `<think>\n${earlier} clashes\n</think>\n\n#### ${text}`, true],
      ["after an earlier one", (text) => `#### ${earlier}\n\n#### ${text}`, true],
      ["after our own notation", (text) => `${own}\n${text}`, true],
      ["in prose", (text) => `The answer is ${text}.`, false],
      ["before prose", (text) => `#### ${text}\nSo ${own} is right.`, false],
      ["at the end of a long text", (text) => `${"x ".repeat(100_000)}\n${text}`, false],
    ])("is found %s", (__, place, wellFormed) => {
      expect(read(list).items.length).toBeGreaterThan(0);
      expect(read(place(list))).toEqual({ items: read(list).items, wellFormed });
    });

    it("gives way to our own notation after it", () => {
      expect(read(`${list}\n\n${own}`)).toEqual(readOwn(own));
      expect(read(`${list}\n\n${own}`).wellFormed).toBe(true);
    });

    it("is read up to a bound, and in bounded time", () => {
      const [long, most] = rest.long;
      expect(read(long).items).toHaveLength(most);
      const pieces =
        '[|[[1,|[[1],|[[1,2,3],|[[1,2,3]  |[1, |1 |1,  | |[(1|{|{ |[ |[1, 2, 3, 4 |{"move": [|{"move": ["a", "b"]';
      for (const piece of pieces.split("|")) expect(read(piece.repeat(100_000)).wellFormed).toBe(false);
    });

    it("changes nothing about our own notation: demonstrated plans and any words of the vocabulary", () => {
      const words = fc.array(fc.constantFrom(...rest.words, "\n"), { maxLength: 60 });
      fc.assert(
        fc.property(words, (some) => {
          expect(read(some.join(" "))).toEqual(readOwn(some.join(" ")));
        }),
      );
      const seats = Object.keys(game.seats);
      const keys = Array.from({ length: 50 }, (__, index) => childKey(rootKey(5), index));
      for (const { action } of keys.flatMap((key) => game.demonstrations?.(key, seats) ?? []))
        expect(read(action)).toEqual(readOwn(action));
    });
  },
);

function mostly(right: number, others: fc.Arbitrary<number>): fc.Arbitrary<number> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(right) }, others);
}

const anyGrids = anyPuzzle([4]).chain((task) => {
  const digits = Array.from(task.solution, (right) => mostly(Number(right), fc.integer({ min: 1, max: 4 })));
  const rows = fc.tuple(...[0, 4, 8, 12].map((at) => fc.tuple(...digits.slice(at, at + 4))));
  return fc.record({ task: fc.constant(task), lists: fc.array(rows, { minLength: 1, maxLength: 4 }) });
});

const anyColumns = anyBoard.chain((task) => {
  const solution = Array.from(completionsOf(task)[0] ?? "", (mark) => (mark.codePointAt(0) ?? 97) - 97);
  const columns = fc.tuple(...solution.map((right) => mostly(right, fc.nat(7))));
  return fc.record({ task: fc.constant(task), lists: fc.array(columns, { minLength: 1, maxLength: 4 }) });
});

/** Results of lists, and of the same plans in our own notation, in the states that the lists lead to. */
function* worths<Task extends Json, State extends Json>(
  game: Game<Task, State>,
  task: Task,
  lists: readonly (readonly unknown[])[],
  inOwnNotation: (list: string, state: State) => string,
) {
  let state = game.start(task);
  for (const list of lists.map((each) => JSON.stringify(each))) {
    const listed = game.step(state, { planner: list });
    yield [listed, game.step(state, { planner: inOwnNotation(list, state) })] as const;
    if (listed.done) return;
    state = listed.state;
  }
}

describe("no list is worth more than our own notation, in any state", () => {
  it("in Sudoku", () => {
    const rules = sudokuEnvironment();
    const property = fc.property(anyGrids, ({ task, lists }) => {
      const all = worths(rules, task, lists, (list, { grid }) =>
        sudoku.writePlan("entries", 4, readSudokuPlan(task, grid, list).items),
      );
      for (const [listed, own] of all) expect(own).toEqual(listed);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it("in Eight Queens", () => {
    const rules = queensEnvironment();
    const property = fc.property(anyColumns, ({ task, lists }) => {
      const all = worths(rules, task, lists, (list, { grid }) =>
        queens.writePlan("queens", 8, readQueensPlan(task, grid, list).items),
      );
      for (const [listed, own] of all) expect(own).toEqual(listed);
    });
    fc.assert(property, { numRuns: 200 });
  });
});
