import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { applyOverrides } from "./layers.ts";
import { loadTree } from "./load.ts";
import { withDatasetFiles } from "./places.ts";
import { plainOf } from "./tree.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-dataset-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

function filesOf(recipe: string, overrides: readonly string[] = []): unknown {
  mkdirSync(path.join(folder, "below"), { recursive: true });
  writeFileSync(
    path.join(folder, "base.yaml"),
    "environment: { name: code, dataset: { files: base.jsonl } }\n",
  );
  const file = path.join(folder, "below", "recipe.yaml");
  writeFileSync(file, recipe);
  const tree = applyOverrides(loadTree(file), overrides);
  const plain = withDatasetFiles(plainOf(tree) as Record<string, unknown>, tree);
  return (plain as { environment: { dataset: { files: unknown } } }).environment.dataset.files;
}

const dataset = (files: string) => `environment: { name: code, dataset: { files: ${files} } }\n`;
const below = (name: string) => path.join(folder, "below", name);

it("paths in any notation are relative to the file that sets them", () => {
  expect(filesOf(dataset("a.jsonl"))).toBe(below("a.jsonl"));
  expect(filesOf(dataset("[a.jsonl, ../b.jsonl]"))).toEqual([below("a.jsonl"), path.join(folder, "b.jsonl")]);
  expect(filesOf(dataset("{ train: [a.jsonl], test: /x/b.jsonl }"))).toEqual({
    train: [below("a.jsonl")],
    test: "/x/b.jsonl",
  });
});

it("paths of a base recipe are relative to it, those of an override to the current directory", () => {
  expect(filesOf("extends: ../base.yaml\n")).toBe(path.join(folder, "base.jsonl"));
  expect(filesOf(dataset("a.jsonl"), ["environment.dataset.files=b.jsonl"])).toBe(path.resolve("b.jsonl"));
});

it("leaves anything else to the schema", () => {
  expect(filesOf(dataset("5"))).toBe(5);
  expect(filesOf("environment: { name: code, dataset: { name: humaneval } }\n")).toBeUndefined();
});

it("splits may have data sets of their own", () => {
  const file = path.join(folder, "splits.yaml");
  const splits = "{ train: train, heldOut: { slices: test, dataset: { files: b.jsonl } } }";
  writeFileSync(file, `environment: { name: math, dataset: gsm8k, splits: ${splits} }\n`);
  const tree = loadTree(file);
  expect(withDatasetFiles(plainOf(tree) as Record<string, unknown>, tree)).toMatchObject({
    environment: {
      splits: {
        train: "train",
        heldOut: { slices: "test", dataset: { files: path.join(folder, "b.jsonl") } },
      },
    },
  });
});
