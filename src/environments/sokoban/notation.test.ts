import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellsByName } from "../grid/cells.ts";
import { readPushes, writeProposal } from "./notation.ts";

const cell = (name: string): number => cellsByName(6).get(name) ?? -1;
const twoPushes = [
  { box: cell("c4"), move: 3 },
  { box: cell("d4"), move: 1 },
];

describe("pushes are read", () => {
  it.each([
    ["c4 right d4 down d5", true],
    ["c4 right d4 down", true],
    ["C4 Right, D4 Down", true],
    ["c4, right, d4, down", true],
    ["I look at b2 first.\n\nc4 right d4 down\n", true],
    ["pushes: c4 right d4 down", false],
    ["c4 right then d4 down", false],
    ["c4 right d4 down\nthat is it", false],
  ])("from %j, well-formed: %s", (text, wellFormed) => {
    expect(readPushes(text, 6)).toEqual({ items: twoPushes, wellFormed });
  });

  it.each(["", "right down", "c4 d4 d5", "c4right", "no idea", "c04 right"])("not from %j", (text) => {
    expect(readPushes(text, 6)).toEqual({ items: [], wellFormed: false });
  });

  it("including those of cells outside the room, as box -1", () => {
    expect(readPushes("z9 up", 6).items).toEqual([{ box: -1, move: 0 }]);
  });

  it("from the last line that has any", () => {
    expect(readPushes("c4 up\nc4 right d4 down", 6).items).toEqual(twoPushes);
  });

  it("as they were written", () => {
    const anyPushes = fc.array(fc.record({ box: fc.nat(35), move: fc.nat(3) }), {
      minLength: 1,
      maxLength: 9,
    });
    fc.assert(
      fc.property(anyPushes, (pushes) => {
        const inside = pushes.filter(({ box, move }) => box + ([-6, 6, -1, 1][move] ?? 0) >= 0);
        fc.pre(inside.length > 0);
        expect(readPushes(writeProposal(6, inside), 6)).toEqual({ items: inside, wellFormed: true });
      }),
    );
  });
});
