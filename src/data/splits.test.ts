import { describe, expect, it } from "vitest";
import { assert, integer, pre, property } from "fast-check";
import { configsOf } from "./splits.ts";
import { checkSplit, parseSlices, rowsOf } from "./slices.ts";

function summary(paths: readonly string[], card: unknown = null): Record<string, unknown> {
  return Object.fromEntries(configsOf(paths, card).map(({ name, splits }) => [name, splits]));
}

describe("files by split", () => {
  const [train, test] = ["data/train-0000", "data/test-00000-of-00001.parquet"];
  const shards = [0, 1].map((shard) => `${train}${shard}-of-00002-0a1b.parquet`);
  const one = "00000-of-00001.parquet";
  it.each<[string, readonly string[], object]>([
    [
      "shards below data",
      ["README.md", ...shards.toReversed(), test],
      { default: { train: shards, test: [test] } },
    ],
    [
      "a folder for each configuration",
      [`full/prompt-${one}`, `full/test-${one}`, `sanitized/test-${one}`],
      {
        full: { prompt: [`full/prompt-${one}`], test: [`full/test-${one}`] },
        sanitized: { test: [`sanitized/test-${one}`] },
      },
    ],
    [
      "the hub's conversions",
      ["main/train/0000.parquet", "main/train/0001.parquet", "main/odd/0000.parquet"],
      {
        main: {
          train: ["main/train/0000.parquet", "main/train/0001.parquet"],
          odd: ["main/odd/0000.parquet"],
        },
      },
    ],
    [
      "words in names, in numerical order",
      ["test.jsonl", "test10.jsonl", "test2.jsonl", "dev.json", "my_training_set.jsonl.gz"],
      {
        default: {
          test: ["test.jsonl", "test2.jsonl", "test10.jsonl"],
          validation: ["dev.json"],
          train: ["my_training_set.jsonl.gz"],
        },
      },
    ],
    [
      "folders named after splits",
      ["test/a.jsonl", "train/b.jsonl"],
      { default: { test: ["test/a.jsonl"], train: ["train/b.jsonl"] } },
    ],
    ["a name without a split", ["HumanEval.jsonl.gz"], { default: { train: ["HumanEval.jsonl.gz"] } }],
    [
      "words inside others",
      ["contest.jsonl", "latest.jsonl"],
      { default: { train: ["contest.jsonl", "latest.jsonl"] } },
    ],
    ["no data files", ["README.md", "script.py", "train.csv"], {}],
  ])("%s", (_, paths, expected) => {
    expect(summary(paths)).toEqual(expected);
  });

  it("the card takes precedence if it names existing files", () => {
    const card = [
      {
        config_name: "main",
        data_files: [
          { split: "train", path: "data/*.jsonl" },
          { split: "test", path: ["x.jsonl", "y/**"] },
        ],
      },
      { config_name: "one", data_files: "z.jsonl" },
      { config_name: "gone", data_files: "gone-*" },
    ];
    expect(summary(["data/a.jsonl", "x.jsonl", "y/b/c.jsonl", "z.jsonl", "test.jsonl"], card)).toEqual({
      main: { train: ["data/a.jsonl"], test: ["x.jsonl", "y/b/c.jsonl"] },
      one: { train: ["z.jsonl"] },
    });
    expect(summary(["test.jsonl"], card.slice(2))).toEqual({ default: { test: ["test.jsonl"] } });
  });

  it.each([
    null,
    5,
    "text",
    [{}],
    [{ config_name: 1, data_files: [] }],
    [{ config_name: "a", data_files: [{ split: 1 }] }],
  ])("ignores a card with %j", (card) => {
    expect(summary(["test.jsonl"], card)).toEqual({ default: { test: ["test.jsonl"] } });
  });
});

function ranges(text: string, size: number): string {
  const rows = parseSlices(text).map((slice) => rowsOf(slice, size));
  return rows.map(({ split, from, to }) => `${split} ${from}-${to}`).join(", ");
}

describe("slices", () => {
  it.each([
    ["test", 164, "test 0-164"],
    ["test[:20]", 164, "test 0-20"],
    ["test[33:133]", 164, "test 33-133"],
    ["test[150:200]", 164, "test 150-164"],
    ["test[-10:]", 164, "test 154-164"],
    ["test[:-10]", 164, "test 0-154"],
    ["test[-300:5]", 164, "test 0-5"],
    ["train[:]", 7, "train 0-7"],
    ["train[:1_000]", 5000, "train 0-1000"],
    ["train[:75%]", 82, "train 0-62"],
    ["train[-25%:]", 82, "train 62-82"],
    ["train[10%:20%]", 1000, "train 100-200"],
    ["train[:50] + test[:10]", 164, "train 0-50, test 0-10"],
    ["valid-2.x[:1]", 4, "valid-2.x 0-1"],
  ])("%s of %i rows", (text, size, expected) => {
    expect(ranges(text, size)).toBe(expected);
  });

  // `datasets` rounds as Python does, half to even: 50 % of 5 rows are 2, of 7 rows 4.
  it.each([
    [5, 2],
    [7, 4],
    [1, 0],
    [3, 2],
  ])("cuts %i rows in half at %i", (size, at) => {
    expect(rowsOf({ ...parseSlices("a[50%:]")[0]! }, size)).toMatchObject({ from: at });
  });

  it.each([
    "",
    "test[5]",
    "test[1:2:3]",
    "test[:5%2]",
    "test[:10%:20]",
    "test[10%:20]",
    "[:5]",
    "test[",
    "a++b",
  ])("rejects %j", (text) => {
    expect(() => parseSlices(text)).toThrow(/is not a slice; expected .*test\[:20\]/);
  });

  it("rejects percentages above 100 and parts without rows", () => {
    expect(() => parseSlices("test[:101%]")).toThrow(/is not a slice/);
    expect(() => ranges("test[200:300]", 164)).toThrow(
      "`test[200:300]` has no rows: test has 164; name others in `splits`",
    );
    expect(() => ranges("test[5:5]", 164)).toThrow(/has no rows/);
  });

  it("suggests a split with a similar name", () => {
    expect(() => checkSplit("tset", ["train", "test"], "humaneval")).toThrow("did you mean `test`?");
    expect(() => checkSplit("x", ["train"], "humaneval")).toThrow("humaneval has no split x; it has train");
  });

  it("adjacent percentages contain each row once", () => {
    assert(
      property(integer({ min: 2, max: 5000 }), integer({ min: 1, max: 99 }), (size, percent) => {
        const cut = (percent * size) / 100;
        // Half a row is rounded to the even side, which may leave one of the two without rows.
        pre(cut > 0.5 && cut < size - 0.5);
        const [first] = parseSlices(`a[:${percent}%]`);
        const [second] = parseSlices(`a[${percent}%:]`);
        expect(rowsOf(first!, size).to).toBe(rowsOf(second!, size).from);
      }),
    );
  });
});
