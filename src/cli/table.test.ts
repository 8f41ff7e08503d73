import { styleText, stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stackedTables, tableLines, visibleLength, withLastBelow, wrapped } from "./table.ts";
import { cut, LiveRegion } from "./live.ts";

describe("withLastBelow", () => {
  const columns = [{ title: "experiment" }, { title: "cells" }, { title: "compares" }];
  const rows = [["teams-win", "36", "a team that talks with one that does not"]];

  it("is a table where it fits", () => {
    expect(withLastBelow(columns, rows, 80)).toEqual(tableLines(columns, rows));
  });

  it("keeps the whole text in a narrow terminal, below its row", () => {
    expect(withLastBelow(columns, rows, 30)).toEqual([
      "experiment  cells",
      "──────────  ─────",
      "teams-win   36",
      "  a team that talks with one",
      "  that does not",
    ]);
  });
});

describe("tableLines", () => {
  it("aligns columns without trailing white space", () => {
    const columns = [{ title: "run" }, { title: "steps", align: "right" as const }];
    expect(tableLines(columns, [["first", "3"], ["b"]])).toEqual([
      "run    steps",
      "─────  ─────",
      "first      3",
      "b",
    ]);
  });

  it("leaves columns out until it fits", () => {
    const columns = [{ title: "run" }, { title: "took", leftOut: 1 }, { title: "steps", leftOut: 2 }];
    const widths = [19, 18, 12, 11, 2].map((width) => tableLines(columns, [["first", "3 s", "9"]], width)[0]);
    expect(widths).toEqual(["run    took  steps", "run    took  steps", "run    steps", "run", "run"]);
  });

  it("leaves out the columns up to a number, then cuts the widest cells, then leaves out others", () => {
    const shrinks = { after: 1, least: 5 };
    const columns = [
      { title: "run", cut: shrinks },
      { title: "place", cut: shrinks, leftOut: 2 },
      { title: "took", leftOut: 1 },
    ];
    const shown = (width: number) => tableLines(columns, [["abcdefghij", "12345678", "3 s"]], width)[2];
    expect([26, 24, 20, 19, 16, 12, 11, 9, 4].map(shown)).toEqual([
      "abcdefghij  12345678  3 s",
      "abcdefghij  12345678",
      "abcdefghij  12345678",
      "abcd…ghij  12345678",
      "abc…hij  123…678",
      "ab…ij  12…78",
      "abcdefghij",
      "abcd…ghij",
      "ab…ij",
    ]);
  });

  it.each([
    ["名前", 4],
    ["n\u0303o", 2],
    ["\u200Bx🚀", 3],
    ["\u001B[31mred\u001B[39m", 3],
  ])("%j takes %i columns", (text, width) => {
    expect(visibleLength(text)).toBe(width);
  });

  it("aligns names with wide characters, escapes, and marks of direction", () => {
    const names = ["名前", "esc\u001B[2J", "\u202Eevil", "new\nline", "plain"];
    const columns = [{ title: "run" }, { title: "b" }];
    const [, , ...lines] = tableLines(
      columns,
      names.map((name) => [name, "b"]),
    );
    expect(lines).toEqual(["名前      b", "esc [2J   b", " evil     b", "new line  b", "plain     b"]);
  });

  it("has the same width in every row whose last cell is filled", () => {
    const cell = fc.stringMatching(/^[a-z]{1,9}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const lines = tableLines([{ title: "a" }, { title: "b", align: "right" }], rows);
        expect(new Set(lines.map(visibleLength)).size).toBe(1);
      }),
    );
  });
});

it("stackedTables puts what does not fit below, with the first column again", () => {
  const columns = ["key", "one", "two", "three"].map((title) => ({ title }));
  const rows = [["a", "1", "2", "3"]];
  expect(stackedTables(columns, rows, 14)).toEqual([
    "key  one  two",
    "───  ───  ───",
    "a    1    2",
    "",
    "key  three",
    "───  ─────",
    "a    3",
  ]);
  expect(stackedTables(columns, rows, 20)).toEqual(tableLines(columns, rows));
  expect(stackedTables(columns, rows, 1)).toHaveLength(11);
});

it("wrapped breaks between words, only where necessary", () => {
  expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapped("one two three", 6)).toEqual(["one", "two", "three"]);
  expect(wrapped("incomprehensible words", 8)).toEqual(["incomprehensible", "words"]);
  expect(wrapped("", 8)).toEqual([""]);
});

class Recorder {
  columns = 20;
  text = "";
  write(text: string): void {
    this.text += text;
  }
  /** The output since the last call. */
  take(): string {
    const taken = this.text;
    this.text = "";
    return taken;
  }
}

describe("LiveRegion", () => {
  it("redraws in place, and prints above", () => {
    const screen = new Recorder();
    const region = new LiveRegion(screen);
    region.update(["one", "two"]);
    expect(stripVTControlCharacters(screen.take())).toBe("one\ntwo\n");
    region.update(["three"]);
    expect(screen.take()).toContain("\u001B[2A\r\u001B[Jthree\n");
    region.print(["a line"]);
    const printed = screen.take();
    expect(printed).toContain("\u001B[1A\r\u001B[Ja line\n");
    expect(printed.endsWith("three\n")).toBe(true);
    region.close();
    expect(screen.take()).toBe("\u001B[1A\r\u001B[J\u001B[?25h");
  });

  it("counts wrapped rows after the terminal became narrower", () => {
    const screen = new Recorder();
    screen.columns = 60;
    const region = new LiveRegion(screen);
    region.update(["x".repeat(50), "short"]);
    screen.take();
    screen.columns = 25;
    region.update(["y"]);
    expect(screen.take()).toContain("\u001B[3A\r");
  });
});

it("cut keeps what fits, not counting colours", () => {
  expect(cut("12345", 5)).toBe("12345");
  expect(cut("123456", 5)).toBe("1234…");
  const coloured = styleText("red", "123456", { validateStream: false });
  expect(stripVTControlCharacters(cut(coloured, 5))).toBe("1234…");
  expect(cut(coloured, 5)).toContain("\u001B[39m");
  expect(cut(coloured, 6)).toBe(coloured);
});
