import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inOrder } from "./input.ts";

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
    let read = 0;
    async function* counted(): AsyncGenerator<number> {
      for (;;) yield ++read;
    }
    const results = inOrder(counted(), 4, (item) => Promise.resolve(item));
    for (let index = 0; index < 10; index++) await results.next();
    expect(read).toBeLessThanOrEqual(14);
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
