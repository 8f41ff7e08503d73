import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, describe } from "vitest";
import { parse } from "yaml";
import { resolveRecipe } from "./resolve.ts";
import { yamlOfRun, differences } from "./write.ts";

it("a run that is resumed from elsewhere keeps the name of its model, and gets that of another", async () => {
  const project = mkdtempSync(join(tmpdir(), "troupe project ü-"));
  onTestFinished(() => rmSync(project, { recursive: true }));
  const run = join(project, "runs", "one");
  for (const folder of [run, join(project, "models", "mine")]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(run, "recipe.yaml"), "policies: { shared: { model: { path: models/mine } } }\n");
  const { recipe } = await resolveRecipe(join("recipes", "plan-path.yaml"));
  const named = async (path: string): Promise<unknown> =>
    parse(await yamlOfRun({ ...recipe, policies: { shared: { model: { path } } } }, run));
  expect(await named(join(project, "models", "mine"))).toMatchObject({
    policies: { shared: { model: { path: "models/mine" } } },
  });
  const other = join(project, "models", "other");
  expect(await named(other)).toMatchObject({ policies: { shared: { model: { path: other } } } });
});

it("a run that is resumed from elsewhere keeps the names of its program's folders, and gets those of others", async () => {
  const project = mkdtempSync(join(tmpdir(), "troupe project ü-"));
  onTestFinished(() => rmSync(project, { recursive: true }));
  const run = join(project, "runs", "one");
  for (const folder of [run, join(project, "agents"), join(project, "other")])
    mkdirSync(folder, { recursive: true });
  const own = { name: "command", run: ["node", "agents.ts"], directory: "agents", readable: ["agents"] };
  writeFileSync(join(run, "recipe.yaml"), JSON.stringify({ policies: {}, environment: own }));
  const { recipe } = await resolveRecipe(join("recipes", "plan-path.yaml"));
  const named = async (folder: string): Promise<unknown> => {
    const environment = { ...own, directory: folder, readable: [folder] } as typeof recipe.environment;
    return (parse(await yamlOfRun({ ...recipe, environment }, run)) as { environment: unknown }).environment;
  };
  expect(await named(join(project, "agents"))).toEqual(own);
  const other = join(project, "other");
  expect(await named(other)).toEqual({ ...own, directory: other, readable: [other] });
});

describe("differences", () => {
  it("are named by their keys; lists are compared whole", () => {
    const left = { seed: 1, train: { steps: 3, topK: 0 }, team: { phases: [["a"], ["b"]] } };
    const right = { seed: 1, train: { steps: 4, topK: 0 }, team: { phases: [["a", "b"]] }, warmStart: {} };
    expect(differences(left, right)).toEqual([
      { key: "train.steps", values: [3, 4] },
      { key: "team.phases", values: [[["a"], ["b"]], [["a", "b"]]] },
      { key: "warmStart", values: [undefined, {}] },
    ]);
    expect(differences(left, structuredClone(left))).toEqual([]);
  });
});
