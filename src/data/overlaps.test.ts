import { existsSync } from "node:fs";
import path from "node:path";
import { array, assert, constantFrom, integer, property, string, uniqueArray } from "fast-check";
import { describe, expect, it } from "vitest";
import { readRows } from "./formats/read-rows.ts";
import { words } from "./testing/rows.ts";
import { findOverlaps, shinglesOf, wordsOf, type ShingledProblem } from "./overlaps.ts";

const problem = (id: string, text: string): ShingledProblem => ({ id, shingles: shinglesOf(text) });

it("words are letters and digits in lower case; names are split", () => {
  expect(wordsOf("def Has_close(a: int) -> bool:\n  'É ﬁ'")).toEqual([
    "def",
    "has",
    "close",
    "a",
    "int",
    "bool",
    "é",
    "fi",
  ]);
});

describe("runs of words", () => {
  it("are one for up to eight words, and one more for each further word", () => {
    const counts = [1, 8, 9, 20].map(
      (length) => shinglesOf(words(3).concat(" ", words(4)).split(" ").slice(0, length).join(" ")).length,
    );
    expect(counts).toEqual([1, 1, 2, 13]);
    expect(shinglesOf("")).toHaveLength(1);
  });

  it("do not depend on case, punctuation and white space", () => {
    assert(
      property(
        array(string({ minLength: 1, unit: constantFrom("a", "b", "x", "z", "0", "9") }), { minLength: 1 }),
        constantFrom(" ", "\n", ", ", "_", " -> "),
        (texts, between) => {
          const other = texts
            .map((text, index) => (index % 2 === 0 ? text.toUpperCase() : text))
            .join(between);
          expect(shinglesOf(other)).toEqual(shinglesOf(texts.join(" ")));
        },
      ),
    );
  });
});

const last = (text: string, count: number) => text.split(" ").slice(-count).join(" ");

describe("overlaps", () => {
  // Each of twelve words: five runs of eight.
  const one = words(1);

  it("treats the same text in another layout as the same", () => {
    expect(
      findOverlaps([problem("a", one), problem("b", words(2))], [problem("x", one.toUpperCase())]),
    ).toEqual([{ train: "a", evaluation: "x", share: 1, isSame: true }]);
  });

  it("treats a text inside another as alike, not the same", () => {
    const longer = `${words(7)} ${one} ${words(8)}`;
    expect(findOverlaps([problem("a", longer)], [problem("x", one)])).toEqual([
      { train: "a", evaluation: "x", share: 1, isSame: false },
    ]);
    expect(findOverlaps([problem("a", one)], [problem("x", longer)])).toMatchObject([{ share: 1 }]);
  });

  // The last nine words have two runs of eight, the last eight have one.
  it.each([
    [9, 2 / 5],
    [8, null],
  ])("%i words of twelve", (count, share) => {
    const similar = `${words(9)} ${last(one, count)}`.split(" ").slice(-12).join(" ");
    const found = findOverlaps([problem("a", one)], [problem("x", similar)]);
    expect(found.map((overlap) => overlap.share)).toEqual(share === null ? [] : [share]);
  });

  it("names the most similar training problem, most similar pairs first", () => {
    const similar = `${words(5)} ${last(one, 10)}`;
    const train = [problem("far", similar), problem("near", one), problem("other", words(6))];
    const evaluation = [problem("y", `${words(6)} ${words(11)}`), problem("x", one)];
    expect(findOverlaps(train, evaluation).map((overlap) => [overlap.train, overlap.evaluation])).toEqual([
      ["near", "x"],
      ["other", "y"],
    ]);
  });

  it("does not count phrases that most problems share", () => {
    const phrase = "given a string return the number of words in it as an integer";
    const evaluation = Array.from({ length: 40 }, (_, index) =>
      problem(`x${index}`, `${phrase} ${words(index)}`),
    );
    expect(findOverlaps([problem("a", `${phrase} ${words(99)}`)], evaluation)).toEqual([]);
    expect(findOverlaps([problem("a", `${phrase} ${words(7)}`)], evaluation)).toMatchObject([
      { evaluation: "x7" },
    ]);
  });

  it("does not count phrases of training problems either, but knows the same problem with them", () => {
    const phrase = "where m and n are relatively prime positive integers find m plus n";
    const train = Array.from({ length: 40 }, (_, index) => problem(`a${index}`, `${words(index)} ${phrase}`));
    // Six runs of eight words are the phrase's; with two words before it, eight of ten are common.
    expect(findOverlaps(train, [problem("x", `one two ${phrase}`)])).toEqual([]);
    expect(findOverlaps(train, [problem("x", `${words(7)} ${phrase}`)])).toEqual([
      { train: "a7", evaluation: "x", share: 1, isSame: true },
    ]);
  });

  it("finds that a set overlaps completely with itself, in any order", () => {
    assert(
      property(uniqueArray(integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 15 }), (numbers) => {
        const set = numbers.map((number) => problem(String(number), words(number)));
        const found = findOverlaps(set, set.toReversed());
        expect(found.map(({ evaluation }) => evaluation).toSorted()).toEqual(numbers.map(String).toSorted());
        expect(found.every((overlap) => overlap.isSame && overlap.train === overlap.evaluation)).toBe(true);
      }),
    );
  });
});

/** Not part of the repository; tests that need it are skipped if it is missing. */
const shared = path.join(import.meta.dirname, "../../../shared/data");

async function prompts(name: string): Promise<ShingledProblem[]> {
  const found: ShingledProblem[] = [];
  for await (const row of readRows({ location: path.join(shared, name), name }))
    if ("value" in row)
      found.push(problem(String(row.value["task_id"] ?? row.value["id"]), String(row.value["prompt"])));
  return found;
}

it.skipIf(!existsSync(shared))(
  "AIME 2025 shares no problem with the years before, AIME 2024 shares all",
  async () => {
    const pool = await prompts("AIME_1983_2024.json");
    const latest = pool.filter(({ id }) => id.startsWith("2024"));
    expect(findOverlaps(pool, await prompts("aime_2025.json"))).toEqual([]);
    expect(latest.length).toBeGreaterThan(10);
    expect(findOverlaps(pool, latest)).toHaveLength(latest.length);
  },
);

it.skipIf(!existsSync(shared))("16 problems of CoopHumanEval, the first, are in HumanEval", async () => {
  const overlaps = findOverlaps(await prompts("HumanEval.jsonl.gz"), await prompts("coophumaneval.json"));
  const numbers = overlaps.map(({ evaluation }) => Number(evaluation.split("/")[1]));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, index) => index));
  expect(overlaps.filter(({ isSame }) => isSame)).toHaveLength(2);
});
