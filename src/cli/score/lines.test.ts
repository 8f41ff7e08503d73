import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines, type Line } from "./score.ts";

async function* chunks(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function read(parts: readonly (string | Uint8Array)[], longest = 1000): Promise<Line[]> {
  const bytes = parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part));
  const lines: Line[] = [];
  for await (const line of readLines(chunks(bytes), longest)) lines.push(line);
  return lines;
}

describe("readLines", () => {
  it("numbers every line, whatever the chunks, with or without a final newline", async () => {
    const lines = [
      { number: 1, text: "one" },
      { number: 3, text: "drei ü" },
    ];
    expect(await read(["one\n\ndrei ü"])).toEqual(lines);
    expect(await read(["o", "n", "e\n", " \n", "drei ", Buffer.of(0xc3), Buffer.of(0xbc), "\n"])).toEqual(
      lines,
    );
    expect(await read([])).toEqual([]);
  });

  it("skips and reports a line that is too long or not UTF-8", async () => {
    const long = { number: 2, text: null, problem: "the line is longer than 10 bytes" };
    const after = { number: 3, text: "after" };
    expect(await read(["before\n", "x".repeat(9), "y".repeat(9), "\nafter"], 10)).toEqual([
      { number: 1, text: "before" },
      long,
      after,
    ]);
    expect(await read(["1234567890\n12345678901"], 10)).toEqual([{ number: 1, text: "1234567890" }, long]);
    expect(await read([Buffer.of(0xff), "\n\nafter"])).toEqual([
      { number: 1, text: null, problem: "the line is not UTF-8" },
      after,
    ]);
  });

  it("equals splitting, however the bytes are cut into chunks", async () => {
    const anyText = fc.array(fc.constantFrom("a", "ü", "\n", "😀", " "), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(anyText, fc.integer({ min: 1, max: 5 }), async (letters, size) => {
        const text = letters.join("");
        const bytes = Buffer.from(text);
        const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const split = text.split("\n").map((line, index) => ({ number: index + 1, text: line }));
        expect(await read(parts)).toEqual(split.filter((line) => line.text.trim() !== ""));
      }),
    );
  });
});
