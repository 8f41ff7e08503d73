/** What the paths in a recipe are relative to. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { applyOverrides } from "./layers.ts";
import { loadTree } from "./load.ts";
import { checkModelsOfRun, withDatasetFiles, withModelPlaces } from "./places.ts";
import { plainOf } from "./tree.ts";

const folder = join(temporaryFolder(), "with a blank ü");
beforeAll(() => {
  for (const name of ["bases", "below"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "base.yaml"), "environment: { name: code, dataset: { files: base.jsonl } }\n");
  writeFileSync(
    join(folder, "bases", "base.yaml"),
    "policies: { one: { model: { path: ../models/one } } }\n",
  );
  const own = "policies: { two: { model: { path: two } }, hub: { model: { path: Qwen/Qwen3-1.7B } } }";
  writeFileSync(join(folder, "mine.yaml"), `extends: bases/base.yaml\n${own}\n`);
});

const recipeAt = (path: string) => ({ policies: { one: { model: { path } } } });

function pathsIn(file: string, ...overrides: readonly string[]): Record<string, unknown> {
  const tree = applyOverrides(loadTree(file), overrides);
  const { policies } = withModelPlaces(plainOf(tree) as Record<string, unknown>, tree);
  const named = policies as Record<string, { model: { path: string } }>;
  return Object.fromEntries(Object.entries(named).map(([name, { model }]) => [name, model.path]));
}

it("paths are relative to the file that sets them, in overrides to the working directory", () => {
  expect(pathsIn(join(folder, "mine.yaml"))).toEqual({
    one: join(folder, "models", "one"),
    two: join(folder, "two"),
    hub: "Qwen/Qwen3-1.7B",
  });
  expect(pathsIn(join(folder, "mine.yaml"), "policies.two.model.path=models/other")["two"]).toBe(
    "models/other",
  );
});

it("a run's recipe and the included ones name models as seen from the working directory", () => {
  const run = join(folder, "runs", "one");
  mkdirSync(join(run, "checkpoints"), { recursive: true });
  writeFileSync(join(run, "recipe.yaml"), "policies: { one: { model: { path: models/one } } }\n");
  expect(pathsIn(join(run, "recipe.yaml"))).toEqual({ one: "models/one" });
  expect(pathsIn(join("recipes", "math", "grpo-gsm8k.yaml"))).toEqual({ reasoner: "models/Qwen3-1.7B" });
});

it("read from elsewhere, a run's recipe names models of the folder it was trained in", () => {
  const project = join(folder, "project");
  const run = join(project, "runs", "one");
  mkdirSync(join(run, "checkpoints"), { recursive: true });
  mkdirSync(join(project, "my models", "one"), { recursive: true });
  // The run's own untrained models are no candidates.
  mkdirSync(join(run, "my models", "one"), { recursive: true });
  writeFileSync(join(run, "recipe.yaml"), "policies: { one: { model: { path: my models/one } } }\n");
  expect(pathsIn(join(run, "recipe.yaml"))).toEqual({ one: join(project, "my models", "one") });
});

it("a run's recipe that leads to another model of the same name is rejected", async () => {
  const run = join(folder, "there", "runs", "one");
  mkdirSync(join(run, "checkpoints"), { recursive: true });
  mkdirSync(join(folder, "there", "base"));
  writeFileSync(join(folder, "there", "base", "config.json"), "{}");
  writeFileSync(join(run, "recipe.yaml"), "policies: { one: { model: { path: base } } }\n");
  const record = { schema_version: 1, step: 0, models: { one: { "config.json": "0".repeat(64) } } };
  writeFileSync(join(run, "models.jsonl"), `${JSON.stringify(record)}\n`);
  const tree = loadTree(join(run, "recipe.yaml"));
  await expect(checkModelsOfRun(recipeAt(join(folder, "there", "base")), tree)).rejects.toThrow(
    /base is not the model that one of .* started from: config\.json differs/,
  );
  const overridden = applyOverrides(tree, ["policies.one.model.path=base"]);
  await checkModelsOfRun(recipeAt(join(folder, "there", "base")), overridden);
});

function filesOf(recipe: string, overrides: readonly string[] = []): unknown {
  const file = join(folder, "below", "recipe.yaml");
  writeFileSync(file, recipe);
  const tree = applyOverrides(loadTree(file), overrides);
  const plain = withDatasetFiles(plainOf(tree) as Record<string, unknown>, tree);
  return (plain as { environment: { dataset: { files: unknown } } }).environment.dataset.files;
}

const dataset = (files: string) => `environment: { name: code, dataset: { files: ${files} } }\n`;
const below = (name: string) => join(folder, "below", name);

it("paths in any notation are relative to the file that sets them", () => {
  expect(filesOf(dataset("a.jsonl"))).toBe(below("a.jsonl"));
  expect(filesOf(dataset("[a.jsonl, ../b.jsonl]"))).toEqual([below("a.jsonl"), join(folder, "b.jsonl")]);
  expect(filesOf(dataset("{ train: [a.jsonl], test: /x/b.jsonl }"))).toEqual({
    train: [below("a.jsonl")],
    test: "/x/b.jsonl",
  });
});

it("paths of a base recipe are relative to it, those of an override to the current directory", () => {
  expect(filesOf("extends: ../base.yaml\n")).toBe(join(folder, "base.jsonl"));
  expect(filesOf(dataset("a.jsonl"), ["environment.dataset.files=b.jsonl"])).toBe(resolve("b.jsonl"));
});

it("leaves anything else to the schema", () => {
  expect(filesOf(dataset("5"))).toBe(5);
  expect(filesOf("environment: { name: code, dataset: { name: humaneval } }\n")).toBeUndefined();
});

it("splits may have data sets of their own", () => {
  const file = join(folder, "splits.yaml");
  const splits = "{ train: train, heldOut: { slices: test, dataset: { files: b.jsonl } } }";
  writeFileSync(file, `environment: { name: math, dataset: gsm8k, splits: ${splits} }\n`);
  const tree = loadTree(file);
  expect(withDatasetFiles(plainOf(tree) as Record<string, unknown>, tree)).toMatchObject({
    environment: {
      splits: {
        train: "train",
        heldOut: { slices: "test", dataset: { files: join(folder, "b.jsonl") } },
      },
    },
  });
});
