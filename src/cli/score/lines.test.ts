/** Lines that are scored: read, kept in order, and what is said of their split. */
import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines, type Line } from "./score.ts";
import { inOrder } from "./input.ts";
import { splitNote } from "../eval.ts";

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

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 0; number < count; number++) yield number;
}

describe("inOrder", () => {
  it("keeps the order and the limit, however long each item takes", async () => {
    const anyTurns = fc.array(fc.nat(5), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(anyTurns, fc.integer({ min: 1, max: 4 }), async (turns, limit) => {
        let [working, most] = [0, 0];
        const work = async (index: number): Promise<number> => {
          most = Math.max(most, ++working);
          for (let left = turns[index] ?? 0; left > 0; left--) await turn();
          working--;
          return index * index;
        };
        const results: number[] = [];
        for await (const result of inOrder(numbers(turns.length), limit, work)) results.push(result);
        expect(results).toEqual(turns.map((_, index) => index * index));
        expect(most).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it("uses its whole limit", async () => {
    const waiting: (() => void)[] = [];
    const work = async (index: number): Promise<number> => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return index;
    };
    const results = inOrder(numbers(10), 3, work);
    const first = results.next();
    while (waiting.length < 3) await turn();
    await turn();
    expect(waiting).toHaveLength(3);
    waiting[0]?.();
    expect(await first).toEqual({ done: false, value: 0 });
    await results.return(undefined);
  });

  it("yields a result before the next item is read: a program may wait for each answer", async () => {
    const asked: ((item: IteratorResult<number>) => void)[] = [];
    const items: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise((resolve) => asked.push(resolve)) }),
    };
    const results = inOrder(items, 8, (item) => Promise.resolve(item + 1));
    for (const value of [10, 20, 30]) {
      const result = results.next();
      while (asked.length === 0) await turn();
      asked.shift()?.({ done: false, value });
      expect(await result).toEqual({ done: false, value: value + 1 });
    }
  });

  it("reads no further than needed", async () => {
    let count = 0;
    async function* counted(): AsyncGenerator<number> {
      for (;;) yield ++count;
    }
    const results = inOrder(counted(), 4, (item) => Promise.resolve(item));
    for (let index = 0; index < 10; index++) await results.next();
    expect(count).toBeLessThanOrEqual(14);
    await results.return(undefined);
  });

  it("fails in order when the work or the reading fails", async () => {
    const results = inOrder(numbers(5), 4, async (item) => {
      if (item === 2) throw new Error("two");
      return item;
    });
    expect((await results.next()).value).toBe(0);
    expect((await results.next()).value).toBe(1);
    await expect(results.next()).rejects.toThrow("two");
  });
});

it("reports that a split has too few tasks, also with several episodes of each", () => {
  expect(splitNote("heldOut", 10 * 100, 10 * 32)).toEqual(["the split heldOut has no more tasks"]);
  expect(splitNote("heldOut", 10 * 32, 10 * 32)).toEqual([]);
});
