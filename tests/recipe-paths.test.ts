/** Every path that a recipe can have is relative to the file that sets it; in an override, to the working directory. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { loadExperiment } from "../src/experiments/load.ts";
import { builtInCatalog } from "../src/recipes/catalog.ts";
import { find, environmentKind } from "../src/recipes/choice.ts";
import { applyOverrides } from "../src/recipes/layers.ts";
import { loadTree } from "../src/recipes/load.ts";
import { withDatasetFiles, withJudgeFolder, withModelPlaces, withToolPlaces } from "../src/recipes/places.ts";
import { plainOf } from "../src/recipes/tree.ts";

type Plain = Readonly<Record<string, unknown>>;

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "troupe places ü ")));
  mkdirSync(join(folder, "bases"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What becomes of a recipe in a subfolder that another file extends. */
async function placed(yaml: string, ...overrides: readonly string[]): Promise<Plain> {
  writeFileSync(join(folder, "bases", "base.yaml"), yaml);
  writeFileSync(join(folder, "mine.yaml"), "extends: bases/base.yaml\nname: mine\n");
  const tree = applyOverrides(loadTree(join(folder, "mine.yaml")), overrides);
  const judged = withJudgeFolder(plainOf(tree) as Plain, tree, builtInCatalog.judges);
  const plain = withDatasetFiles(withToolPlaces(withModelPlaces(judged, tree), tree), tree);
  const environment = await find(environmentKind(builtInCatalog), plain, tree, []);
  return environment === undefined ? plain : { ...plain, environment: environment.options };
}

function valueAt(plain: unknown, key: string): unknown {
  return key
    .split(".")
    .reduce<unknown>((value, part) => z.looseObject({}).parse({ ...(value as object) })[part], plain);
}

it.each([
  ["policies.one.model.path", "policies: { one: { model: { path: ./data/x } } }"],
  ["environment.tasks", "environment: { name: data-science, tasks: ./data/x }"],
  ["environment.dataset.files", "environment: { name: questions, dataset: { files: ./data/x } }"],
  [
    "environment.splits.train.dataset.files",
    "environment: { name: questions, splits: { train: { dataset: { files: ./data/x } } } }",
  ],
  ["judge.recorded", "judge: { name: coach, recorded: ./data/x }"],
  ["judge.directory", "judge: { name: command, run: [score], directory: ./data/x }"],
  [
    "team.roles.one.tools.0.index",
    "team: { roles: { one: { tools: [{ name: search, index: ./data/x }] } } }",
  ],
  [
    "team.roles.one.tools.0.folder",
    "team: { roles: { one: { tools: [{ name: mcp, command: [a], folder: ./data/x }] } } }",
  ],
  [
    "evaluation.compare.other.roles.one.tools.0.index",
    "evaluation: { compare: { other: { roles: { one: { tools: [{ name: search, index: ./data/x }] } } } } }",
  ],
])("%s", async (key, yaml) => {
  expect(valueAt(await placed(yaml), key)).toBe(join(folder, "bases", "data", "x"));
  if (key.includes(".tools.")) return;
  const given = valueAt(await placed(yaml, `${key}=./data/y`), key);
  expect(resolve(String(given))).toBe(resolve("data/y"));
});

it("a word that an option also takes is no path", async () => {
  const { environment } = await placed("environment: { name: data-science, tasks: generated }");
  expect(environment).toEqual({ tasks: "generated" });
});

it("an environment's module says which of its options are paths", async () => {
  const module =
    "export default { name: 'own', summary: '', paths: { maps: [] }, options: { parse: (x) => x }, create: () => null };";
  writeFileSync(join(folder, "bases", "own.mjs"), module);
  const { environment } = await placed("environment: { module: ./own.mjs, maps: maps/large, size: 3 }");
  expect(environment).toEqual({ maps: join(folder, "bases", "maps", "large"), size: 3 });
});

it("what an experiment requires", () => {
  const file = join(folder, "compare.yaml");
  const requires = "requires: [{ path: models/one, fetch: download it }]";
  const rest = "columns: { a: { recipe: plan-path } }\nrows: { b: { train: {} } }\nseeds: [1]\n";
  writeFileSync(file, `name: compare\n${requires}\n${rest}`);
  const [required] = loadExperiment(file).definition.requires;
  expect(required?.path).toBe(join(folder, "models", "one"));
});
