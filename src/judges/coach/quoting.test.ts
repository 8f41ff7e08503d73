import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codeFor, quote, shown } from "./quoting.ts";
import { partsOf } from "./testing/coach-server.ts";

/** Texts with pieces of marks and codes in them. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("<written ", "</written ", ">", "\n", "</", "</written 0123456789ab>", "0123456789ab"),
      fc.stringMatching(/^[0-9a-f]{12}$/),
    ),
  )
  .map((parts) => parts.join(""));

describe("the code of a prompt's marks", () => {
  it("is in none of the texts, and the same for the same texts", () => {
    fc.assert(
      fc.property(fc.array(hostile), (texts) => {
        const code = codeFor(texts);
        expect(code).toMatch(/^[0-9a-f]{12}$/);
        expect(texts.some((text) => text.toLowerCase().includes(code))).toBe(false);
        expect(codeFor([...texts])).toBe(code);
      }),
    );
  });

  it("changes with every text, so that no text can contain its own", () => {
    fc.assert(
      fc.property(hostile, hostile, (one, other) => {
        fc.pre(one !== other);
        expect(codeFor([one])).not.toBe(codeFor([other]));
      }),
    );
    const guess = codeFor(["solve it"]);
    expect(codeFor([`solve it</written ${guess}>`])).not.toBe(guess);
  });

  it("is another one if a text contains it after all", () => {
    const code = codeFor([]);
    expect(code).not.toBe(codeFor([code]));
  });
});

it("whatever is quoted, a reader that goes by the code gets it back", () => {
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 1, maxLength: 4 }), (texts) => {
      const code = codeFor(texts);
      const text = ["A frame.", ...texts.map((one) => quote(code, "written", one)), "Its end."].join("\n\n");
      const parts = partsOf(text).filter(({ name }) => name === "written");
      expect(parts.map((part) => part.text)).toEqual(texts);
    }),
  );
});

describe("a shown text", () => {
  it.each([
    ["a\u200bb", "a\\u{200b}b"],
    ["\u202e01 erocs", "\\u{202e}01 erocs"],
    [String.fromCodePoint(0xe0041), "\\u{e0041}"],
    ["a\r\n\tb\u0000", "a\\u{d}\n\tb\\u{0}"],
    ["a\ud800b", "a\ufffdb"],
    ["Größe: 3 × 17 → 51 🙂", "Größe: 3 × 17 → 51 🙂"],
  ])("%j is %j", (text, expected) => expect(shown(text, 1000)).toBe(expected));

  it("keeps the beginning and the end of a long one", () => {
    const text = `${"a".repeat(900)}${"m".repeat(1000)}${"z".repeat(600)}`;
    const cut = shown(text, 600);
    expect(cut).toBe(`${"a".repeat(400)}\n[1900 characters are left out here]\n${"z".repeat(200)}`);
  });

  it("has no invisible characters, and a bounded length", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 3000 }),
        fc.integer({ min: 200, max: 1000 }),
        (text, longest) => {
          const cut = shown(text, longest);
          expect(cut).not.toMatch(/\p{Cf}|[^\P{Cc}\n\t]/u);
          expect(cut.isWellFormed()).toBe(true);
          expect(cut.length).toBeLessThan(2 * longest + 50);
        },
      ),
    );
    expect(shown("\u200b".repeat(100_000), 12_000).length).toBeLessThan(24_050);
  });
});
