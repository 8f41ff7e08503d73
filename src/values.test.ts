/** Functions that are used everywhere. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { assert, json, property } from "fast-check";
import { showBytes, showDuration, showLarge, showNumber, showShare } from "./format.ts";
import { endsInBrokenObject, objectsIn, repeatsKey } from "./json.ts";
import { editDistance, nearestName } from "./nearest.ts";
import { childKey, extendedName, rootKey } from "./random.ts";
import { limiter, settleAll } from "./settle.ts";

describe("numbers for people", () => {
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
    [showDuration(71.5 * 3600), "71:30 h"],
    [showDuration(84 * 3600), "3.5 days"],
    [showDuration(16_607.33 * 3600), "692 days"],
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

it.each([
  ['{"a": 1, "a": 2}', true],
  ['[{"a": {"b": 1, "c": 2, "b": 3}}]', true],
  ['{"a": 1, "\\u0061": 2}', true],
  ['{"a": {"a": ":"}, "b": ["{:", {"a": 1}]}', false],
  ['{"__proto__": 1, "a": ":\\":"}', false],
  ['"a: b"', false],
])("%s repeats a key: %s", (text, expected) => {
  expect(repeatsKey(text)).toBe(expected);
});

it("no value that was written by JSON.stringify repeats a key", () => {
  assert(property(json(), (text) => !repeatsKey(JSON.stringify(JSON.parse(text)))));
});

it("objects are found with their text, and what follows them is looked at", () => {
  const text = 'one {"a": {"b": 1}} two {b} {"c": "}"} three';
  const found = objectsIn(text);
  expect(found.map((one) => one.text)).toEqual(['{"a": {"b": 1}}', '{"c": "}"}']);
  expect(found.map(({ value }) => value)).toEqual([{ a: { b: 1 } }, { c: "}" }]);
  expect(endsInBrokenObject(text, found)).toBe(false);
  for (const rest of [' {"d": 1', " {", " { ", " {'d': 1}", " {d: 1}"])
    expect(endsInBrokenObject(text + rest, objectsIn(text + rest))).toBe(true);
});

describe("editDistance", () => {
  it("counts insertions, deletions, substitutions and swaps of neighbours", () => {
    expect(editDistance("steps", "steps")).toBe(0);
    expect(editDistance("step", "steps")).toBe(1);
    expect(editDistance("setps", "steps")).toBe(1);
    expect(editDistance("kitten", "sitting")).toBe(3);
    expect(editDistance("", "abc")).toBe(3);
  });

  it("is symmetric, and zero only between equals", () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});

describe("nearestName", () => {
  const keys = ["learningRate", "steps", "topK", "topP"];

  it("forgives case and separators", () => {
    expect(nearestName("learning_rate", keys)).toBe("learningRate");
    expect(nearestName("top-k", keys)).toBe("topK");
  });

  it("returns undefined if nothing is near", () => {
    expect(nearestName("colour", keys)).toBeUndefined();
    expect(nearestName("x", ["ab"])).toBeUndefined();
  });
});

it("the key of a name is that of its beginning, extended", () => {
  fc.assert(
    fc.property(fc.integer(), fc.string(), fc.string(), (seed, start, more) => {
      const root = rootKey(seed);
      expect(extendedName(childKey(root, start), more)).toEqual(childKey(root, start + more));
    }),
  );
});

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
