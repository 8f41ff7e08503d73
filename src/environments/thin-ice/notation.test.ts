import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSayable, type ListShape, readLists } from "./notation.ts";

const shapes: readonly ListShape[] = [
  { label: "walk", isWord: (word) => /^[a-d][1-4]$/.test(word), most: 8 },
  { label: "say", isWord: (word) => isSayable(4, word), most: 3 },
];

function read(text: string): string {
  const { lists, wellFormed } = readLists(text, shapes);
  const found = Object.entries(lists).map(([label, words]) => `${label}(${words.join(" ")})`);
  return `${found.join(" ")}${wellFormed ? "" : " !"}`;
}

describe("lists behind labels", () => {
  it.each([
    ["walk b1 c1 say d2 d3", "walk(b1 c1) say(d2 d3)"],
    ["  Walk: B1, C1; say d2\n", "walk(b1 c1) say(d2)"],
    ["walk none say none", "walk() say()"],
    ["walk b1 say at a1 to", "walk(b1) say(at a1 to)"],
    ["I know the ice.\n\nwalk b1 say d2", "walk(b1) say(d2)"],
    ["walk a1 say a2\nNo, better:\nwalk b1 say d2", "walk(b1) say(d2)"],
    ["walk b1 c1\nsay d2 d3", "walk(b1 c1) say(d2 d3)"],
  ])("of %j are %s", (text, expected) => {
    expect(read(text).replace(/ !$/, "")).toBe(expected);
  });

  it.each([
    ["walk b1 c1 say d2 d3", true],
    ["Walk B1, C1; say d2", true],
    ["Here it is.\nwalk none say d2", true],
    ["walk b1 and say d2", false],
    ["walk none b1 say d2", false],
    ["walk b1 say d2 d3 d4 c4", false],
    ["say d2 walk b1", false],
    ["walk b1", false],
    ["say d2", false],
    ["walk b1 say d2!", false],
    ["walk b1 walk c1 say d2", false],
    ["", false],
  ])("%j are well-formed: %j", (text, expected) => {
    expect(readLists(text, shapes).wellFormed).toBe(expected);
  });

  it("are limited in length, and to the words that belong there", () => {
    expect(read("walk b1 thin e9 c1 say d2 sudo d3 <|im_end|> d4 c4 c3")).toBe("walk(b1 c1) say(d2 d3 d4) !");
    expect(read(`walk ${"b1 ".repeat(100_000)} say d2`)).toBe("say(d2) !");
  });
});

it("any text is read without an exception", () => {
  const piece = fc.oneof(
    fc.constantFrom("walk", "say", "b1", "d4", "none", "\n", "thin", "__proto__"),
    fc.string(),
  );
  fc.assert(
    fc.property(
      fc.array(piece).map((words) => words.join(" ")),
      (text) => {
        const { lists } = readLists(text, shapes);
        for (const { label, isWord, most } of shapes) {
          expect((lists[label] ?? []).every(isWord)).toBe(true);
          expect((lists[label] ?? []).length).toBeLessThanOrEqual(most);
        }
      },
    ),
  );
});
