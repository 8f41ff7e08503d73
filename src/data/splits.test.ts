import { describe, expect, it } from "vitest";
import { configsOf } from "./splits.ts";

function summary(paths: readonly string[], card: unknown = null): Record<string, unknown> {
  return Object.fromEntries(configsOf(paths, card).map(({ name, splits }) => [name, splits]));
}

describe("files by split", () => {
  it.each([
    [
      "shards below data",
      [
        "README.md",
        "data/train-00001-of-00002-0a1b.parquet",
        "data/train-00000-of-00002-0a1b.parquet",
        "data/test-00000-of-00001.parquet",
      ],
      {
        default: {
          train: ["data/train-00000-of-00002-0a1b.parquet", "data/train-00001-of-00002-0a1b.parquet"],
          test: ["data/test-00000-of-00001.parquet"],
        },
      },
    ],
    [
      "a folder for each configuration",
      [
        "full/prompt-00000-of-00001.parquet",
        "full/test-00000-of-00001.parquet",
        "sanitized/test-00000-of-00001.parquet",
      ],
      {
        full: { prompt: ["full/prompt-00000-of-00001.parquet"], test: ["full/test-00000-of-00001.parquet"] },
        sanitized: { test: ["sanitized/test-00000-of-00001.parquet"] },
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
