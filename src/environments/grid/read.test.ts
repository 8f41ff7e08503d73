import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellNames, moveWords } from "./cells.ts";
import { readCells, readMoves } from "./read.ts";

function moves(text: string): string {
  return readMoves(text, 10, false)
    .items.map((move) => moveWords[move])
    .join(" ");
}

function cells(text: string): string {
  return readCells(text, 10)
    .items.map((cell) => cellNames(10)[cell] ?? "?")
    .join(" ");
}

describe("moves", () => {
  it.each([
    ["right down down", "right down down"],
    ["  RIGHT,Down;\tdown.\n", "right down down"],
    ["r d D u L", "right down down up left"],
    ["RDDU", "right down down up"],
    ["→ ↓ ↓", "right down down"],
    ["➡️⬇️⬇️", "right down down"],
    ["right → down → down", "right down down"],
    ["right -> down -> down", "right down down"],
    ['["right", "down", "down"]', "right down down"],
    ['{"moves": ["right", "down"]}', "right down"],
    ["#### ['R', 'D']", "right down"],
    ["#### [R, D]", "right down"],
    ['**Actions List**: ["R", "D"]', "right down"],
    ['["U"] clashes\n</think>\n\n#### ["R", "D"]', "right down"],
    ['[\n  "R",\n  "D"\n]', "right down"],
    ["**right, down**", "right down"],
    ["1. right\n2. down\n3. down", "right down down"],
    ["right\ndown\ndown", "right down down"],
    ["move right, then go down", "right down"],
    ["east south", "right down"],
    ["plan: right down", "right down"],
    ["First up up. No, better: right down", "right down"],
    ["[up, up] or rather [right, down]", "right down"],
    ["up up\n\nright down", "right down"],
    ["The plan is right down. I hope that's right", "right down"],
    ["I go up", "up"],
    ["c4 right d4 down d5", "right down"],
    ["right down<|im_end|>", "right down"],
    ["rightdown", ""],
    ["dull lull", ""],
    ["", ""],
    ["I cannot do that.", ""],
    ["Ich gehe nach rechts", ""],
    ["__proto__ constructor toString", ""],
  ])("of %j are %j", (text, expected) => {
    expect(moves(text)).toBe(expected);
  });

  it.each([
    ["right down", true],
    ["Right, down.\n", true],
    ["plan: right down", true],
    ["RDD", true],
    ["The wall is in the way.\nright down", true],
    ["right\ndown", true],
    ["[right, down]", true],
    ['["R", "D"]', true],
    ['The wall is in the way.\n#### ["R", "D"]', true],
    ["#### [R, D]\n", true],
    ['**Actions List**: ["R", "D"]', true],
    ['```json\n["R", "D"]\n```', true],
    ["#### []", false],
    ["I go right down", false],
    ["right down!!! Done", false],
    ["1. right 2. down", false],
    ["right then down", false],
    ["c4 right d4 down d5", false],
    ["right down <|im_end|>", false],
    ["", false],
  ])("%j are well-formed: %j", (text, expected) => {
    expect(readMoves(text, 10, false).wellFormed).toBe(expected);
  });

  it("may have cells between them if the notation has them", () => {
    expect(readMoves("c4 right d4 down d5", 10, true)).toEqual({ items: [3, 1], wellFormed: true });
  });
});

describe("cells", () => {
  it.each([
    ["c4 d4 d5", "c4 d4 d5"],
    ["C4, D4 -> D5", "c4 d4 d5"],
    ["C4-D4-D5", "c4 d4 d5"],
    ["c4 → d4 → d5", "c4 d4 d5"],
    ["route: c4 d4", "c4 d4"],
    ["From c4 to h9 it is c4 d4 d5", "c4 d4 d5"],
    ["(c4) (d4)", "d4"],
    ["j10 k1 a11", "j10 ? ?"],
    ["c04 c4c5 c", ""],
    ["right down", ""],
  ])("of %j are %j", (text, expected) => {
    expect(cells(text)).toBe(expected);
  });
});

describe("any text", () => {
  const anyText = fc.oneof(
    fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 300 }),
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc
      .array(
        fc.oneof(
          fc.constantFrom(..."right down U R c4 d4 -> → ] \n \n\n x 7 then <|im_end|> \uD800".split(" ")),
          fc.string(),
        ),
      )
      .map((words) => words.join(" ")),
  );

  it("never throws, and gives moves and cells of the board", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const read = [readMoves(text, 10, false), readMoves(text, 10, true)];
        for (const { items, wellFormed } of read) {
          expect(items.every((move) => move >= 0 && move <= 3)).toBe(true);
          expect(items.length > 0 || !wellFormed).toBe(true);
        }
        expect(readCells(text, 10).items.every((cell) => cell >= -1 && cell < 100)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("that ends with a list on its own line gives that list", () => {
    const anyPlan = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(anyText, anyPlan, (before, plan) => {
        const text = `${before}\n\n${plan.map((move) => moveWords[move]).join(" ")}`;
        expect(readMoves(text, 10, false)).toEqual({ items: plan, wellFormed: true });
      }),
    );
  });

  it("is read only at its end, up to a bounded number of items", () => {
    const million = readMoves("right ".repeat(200_000), 10, false);
    expect(million.items).toHaveLength(400);
    expect(million.wellFormed).toBe(false);
    expect(readCells("c4 ".repeat(400_000), 10).items).toHaveLength(400);
    expect(readMoves(`up up${" x".repeat(500_000)}`, 10, false).items).toEqual([]);
  });
});
