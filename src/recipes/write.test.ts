import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../models/test-model.ts";
import { resolveRecipe } from "./resolve.ts";
import { yamlOfRun, differences } from "./write.ts";

const policiesAt = (path: string) => ({ shared: { model: { path } } });

describe("a run that is resumed from elsewhere", async () => {
  const project = join(temporaryFolder(), "project ü");
  const run = join(project, "runs", "one");
  for (const name of ["runs/one", "models/mine", "agents"])
    mkdirSync(join(project, name), { recursive: true });
  const own = { name: "command", run: ["node", "agents.ts"], directory: "agents", readable: ["agents"] };
  writeFileSync(
    join(run, "recipe.yaml"),
    JSON.stringify({ policies: policiesAt("models/mine"), environment: own }),
  );
  const { recipe } = await resolveRecipe(join("recipes", "plan-path.yaml"));
  const other = join(project, "other");

  it("keeps the name of its model, and gets that of another", async () => {
    const named = async (path: string): Promise<unknown> =>
      parse(await yamlOfRun({ ...recipe, policies: policiesAt(path) }, run));
    expect(await named(join(project, "models", "mine"))).toMatchObject({
      policies: policiesAt("models/mine"),
    });
    expect(await named(other)).toMatchObject({ policies: policiesAt(other) });
  });

  it("keeps the names of its program's folders, and gets those of others", async () => {
    const named = async (folder: string): Promise<unknown> => {
      const environment = { ...own, directory: folder, readable: [folder] } as typeof recipe.environment;
      return parse(await yamlOfRun({ ...recipe, environment }, run));
    };
    expect(await named(join(project, "agents"))).toMatchObject({ environment: own });
    const environment = { ...own, directory: other, readable: [other] };
    expect(await named(other)).toMatchObject({ environment });
  });
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
