import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { showBytes, showDuration, showLarge, showNumber, showShare } from "./format.ts";
import { tableLines, visibleLength, wrapped } from "./table.ts";

describe("numbers as people read them", () => {
  it.each([
    [showLarge(950), "950"],
    [showLarge(999.6), "1.0 k"],
    [showLarge(12_345), "12.3 k"],
    [showLarge(645_000), "645 k"],
    [showLarge(4_500_000), "4.5 M"],
    [showDuration(0.42), "0.4 s"],
    [showDuration(59.4), "59 s"],
    [showDuration(185), "3:05 min"],
    [showDuration(8100), "2:15 h"],
    [showDuration(Infinity), "unknown"],
    [showBytes(419_500_000), "420 MB"],
    [showBytes(2_340_000_000), "2.3 GB"],
    [showShare(0.7123), "71.2 %"],
    [showNumber(0), "0"],
    [showNumber(0.0012345), "0.00123"],
    [showNumber(-1.2345), "-1.23"],
    [showNumber(123.4), "123"],
    [showNumber(0.0000123), "1.2e-5"],
  ])("%s is %s", (shown, expected) => {
    expect(shown).toBe(expected);
  });
});

describe("tableLines", () => {
  it("aligns columns and leaves no white space at the end", () => {
    const columns = [{ title: "run" }, { title: "steps", align: "right" as const }];
    expect(tableLines(columns, [["first", "3"], ["b"]])).toEqual([
      "run    steps",
      "─────  ─────",
      "first      3",
      "b",
    ]);
  });

  it("is as wide in every row whose last cell is filled", () => {
    const cell = fc.stringMatching(/^[a-z]{1,9}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const lines = tableLines([{ title: "a" }, { title: "b", align: "right" }], rows);
        expect(new Set(lines.map(visibleLength)).size).toBe(1);
      }),
    );
  });
});

describe("wrapped", () => {
  it("breaks between words, and only where it must", () => {
    expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapped("one two three", 6)).toEqual(["one", "two", "three"]);
    expect(wrapped("incomprehensible words", 8)).toEqual(["incomprehensible", "words"]);
    expect(wrapped("", 8)).toEqual([""]);
  });
});
