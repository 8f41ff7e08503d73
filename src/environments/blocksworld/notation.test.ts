import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { notationWords, nowhere, readMoves, readOrder, readPlan, table } from "./notation.ts";
import { blocksEnvironment } from "./test-blocks.ts";

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

  it("from any text, without an exception and in bounded time", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect(readOrder(text, 5).items.every((block) => block === nowhere || block < 5)).toBe(true);
        expect(readMoves(text, 5).items.length).toBeLessThanOrEqual(256);
      }),
    );
    // Guards against backtracking over spaces that two parts of a pattern could share.
    expect(readOrder(`${"a  ".repeat(5000)}!`, 5).wellFormed).toBe(false);
    expect(readMoves(`${"move  a  b  ".repeat(1300)}x`, 5).wellFormed).toBe(false);
  });
});

const list = '[{"move": ["C", "table"]}, {"move": ["B", "A"]}]';

describe("a list of moves is found", () => {
  it.each([
    ["alone", list, true],
    ["after its mark", `C has to go first.\n#### ${list}`, true],
    ["after the tool's mark", `**Actions List**: ${list}\n`, true],
    ["over several lines", JSON.stringify(JSON.parse(list), null, 2), true],
    ["in a code fence", `First c.\n\`\`\`json\n${list}\n\`\`\`\n`, true],
    ["as Python writes it", list.replaceAll('"', "'"), true],
    ["as objects alone", '{"move": ["c", "table"]}\n{"move": ["b", "a"]}', true],
    ["after an earlier one", `[{"move": ["a", "table"]}]\n#### ${list}`, true],
    ["after our own notation", `move a table\n${list}`, true],
    ["in prose", `It is ${list}`, false],
    ["before prose", `${list}\nI move a last.`, false],
  ])("%s", (_, text, wellFormed) => {
    expect(readPlan(text, 3)).toEqual({ items: two, wellFormed });
  });

  it("and our own notation after it takes precedence", () => {
    expect(readPlan(`${list}\n\nmove a b`, 3)).toEqual({ items: [{ block: 0, to: 1 }], wellFormed: true });
  });

  it("up to a number that no plan needs, in bounded time", () => {
    expect(readPlan(`[${'{"move": ["a", "b"]},'.repeat(500)}]`, 3).items).toHaveLength(256);
    for (const piece of ["{", '{"move": [', '{"move": ["a", "b"]', "[ ", "{ "]) {
      expect(readPlan(piece.repeat(100_000), 3).wellFormed).toBe(false);
    }
  });
});

describe("our own notation", () => {
  it("is read as if lists were not supported: demonstrated plans and any words of the vocabulary", () => {
    const words = fc.array(fc.constantFrom(...notationWords(5), "\n"), { maxLength: 40 });
    fc.assert(
      fc.property(words, (some) => {
        expect(readPlan(some.join(" "), 5)).toEqual(readMoves(some.join(" "), 5));
      }),
    );
    const environment = blocksEnvironment();
    for (let index = 0; index < 100; index++) {
      for (const { action } of environment.demonstrations?.(childKey(rootKey(5), index), ["planner"]) ?? []) {
        expect(readPlan(action, 5)).toEqual(readMoves(action, 5));
      }
    }
  });
});
