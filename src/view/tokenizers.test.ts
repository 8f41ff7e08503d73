import fs from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { recipeToYaml } from "../recipes/write.ts";
import { openRun } from "../runs/run.ts";
import { textOfTokens } from "./token-views.ts";
import { Tokenizers } from "./tokenizers.ts";

const recipe = (environment: string) => `name: untrained
environment: { name: ${environment} }
team: { roles: { proposer: { policy: shared, prompt: "" }, planner: { policy: shared, prompt: "" } }, turns: 2 }
policies: { shared: { model: { preset: nano } } }
algorithm: { name: at-grpo, samples: 2 }
train: { steps: 0, tasksPerStep: 2, learningRate: 0.001, minibatches: 1 }
evaluation: { tasks: 2 }
`;

it("reads the tokens of a run once, and those of another one in its place", async () => {
  const root = temporaryFolder();
  const [run, file] = [path.join(root, "run"), path.join(root, "recipe.yaml")];
  const writeRun = async (environment: string) => {
    await fs.writeFile(file, recipe(environment));
    await (await openRun(run, recipeToYaml((await resolveRecipe(file)).recipe, run))).close();
  };
  const tokenizers = new Tokenizers(run);
  const tableOf = async () => {
    const { table, problem } = await tokenizers.of("shared");
    if (table === null) throw new Error(problem);
    return table;
  };
  await writeRun("blocksworld");
  const [first, again] = await Promise.all([tableOf(), tableOf()]);
  expect(again).toBe(first);
  await fs.rm(run, { recursive: true });
  await writeRun("sudoku");
  const all = [...first.starts.keys()];
  expect(textOfTokens(await tableOf(), all)).not.toBe(textOfTokens(first, all));
  await tokenizers.close();
});
