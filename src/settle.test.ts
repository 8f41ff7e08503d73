import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { limiter, settleAll } from "./settle.ts";

it("lets all finish before the first failure is thrown", async () => {
  let finished = 0;
  const slow = async (): Promise<void> => {
    await turn();
    finished += 1;
  };
  const failing = Promise.reject(new Error("first"));
  await expect(settleAll([slow(), failing, slow()])).rejects.toThrow("first");
  expect(finished).toBe(2);
});

it("runs at most as many at once as allowed, all of them, in order, whatever fails", async () => {
  const works = fc.array(fc.record({ turns: fc.integer({ min: 1, max: 4 }), fails: fc.boolean() }), {
    maxLength: 20,
  });
  await fc.assert(
    fc.asyncProperty(works, fc.option(fc.integer({ min: 1, max: 4 })), async (each, limit) => {
      const limited = limiter(limit);
      const begun: number[] = [];
      let [running, most] = [0, 0];
      const settled = await Promise.allSettled(
        each.map(({ turns, fails }, index) =>
          limited(async () => {
            begun.push(index);
            most = Math.max(most, ++running);
            for (let left = turns; left > 0; left--) await turn();
            running -= 1;
            if (fails) throw new Error("failed");
            return index;
          }),
        ),
      );
      expect(begun).toEqual(each.map((_, index) => index));
      expect(settled.map(({ status }) => status === "rejected")).toEqual(each.map(({ fails }) => fails));
      expect(most).toBe(Math.min(each.length, limit ?? Infinity));
    }),
  );
});

it("work that is cancelled while it waits leaves the queue; the rest keeps its order", async () => {
  const limited = limiter(1);
  const first = Promise.withResolvers<string>();
  const cancel = new AbortController();
  const [one, two, three] = [
    limited(() => first.promise),
    limited(() => Promise.resolve("never"), cancel.signal),
    limited(() => Promise.resolve("third")),
  ];
  cancel.abort();
  await expect(two).rejects.toMatchObject({ code: "cancelled" });
  first.resolve("first");
  expect([await one, await three]).toEqual(["first", "third"]);
});
