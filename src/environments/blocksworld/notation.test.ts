import { describe, expect, it } from "vitest";
import { nowhere, readMoves, readOrder, readPlan, table } from "./notation.ts";

const two = [
  { block: 2, to: table },
  { block: 1, to: 0 },
];

describe("moves are read", () => {
  it.each([
    ["move c table move b a", true],
    ["Move C to table, move B onto A.", true],
    ['[{"move": ["c", "table"]}, {"move": ["b", "a"]}]', true],
    ["First c has to go.\n\nmove c table move b a\n", true],
    ["I move c table, then move b a", false],
    ["move c table move b a\nthat is it", false],
  ])("from %j, well-formed: %s", (text, wellFormed) => {
    expect(readMoves(text, 3)).toEqual({ items: two, wellFormed });
  });

  it.each(["", "c table b a", "moved c", "no idea", "move", "move c"])("not from %j", (text) => {
    expect(readMoves(text, 3)).toEqual({ items: [], wellFormed: false });
  });

  it("including those of blocks that do not exist", () => {
    expect(readMoves("move d a move table b move a xy", 3).items).toEqual([
      { block: nowhere, to: 0 },
      { block: nowhere, to: 1 },
      { block: 0, to: nowhere },
    ]);
  });

  it("up to a number that no plan needs", () => {
    expect(readMoves("move a b ".repeat(1000), 3).items).toHaveLength(256);
  });
});

describe("an order is read", () => {
  it.each([
    ["c b a", true],
    ["C, B, A", true],
    ["they are\nc b a", true],
    ["order: c b a", false],
    ["c b a\nor so", false],
  ])("from %j, well-formed: %s", (text, wellFormed) => {
    expect(readOrder(text, 3)).toEqual({ items: [2, 1, 0], wellFormed });
  });

  it("not if it names no block", () => {
    expect(readOrder("no idea", 3)).toEqual({ items: [], wellFormed: false });
    expect(readOrder("a z", 3).items).toEqual([0, nowhere]);
  });

  it("in bounded time", () => {
    // Guards against backtracking over spaces that two parts of a pattern could share.
    expect(readOrder(`${"a  ".repeat(5000)}!`, 5).wellFormed).toBe(false);
    expect(readMoves(`${"move  a  b  ".repeat(1300)}x`, 5).wellFormed).toBe(false);
  });
});

const list = '[{"move": ["C", "table"]}, {"move": ["B", "A"]}]';

it.each([
  ["a list", list],
  ["a list as Python writes it", list.replaceAll('"', "'")],
  ["objects alone", '{"move": ["c", "table"]}\n{"move": ["b", "a"]}'],
])("moves are read from %s", (_, text) => {
  expect(readPlan(text, 3)).toEqual({ items: two, wellFormed: true });
});
