import fs from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { textOfTokens, tokenTexts, type TokenTable } from "./token-views.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { recipeToYaml } from "../recipes/write.ts";
import { openRun } from "../runs/run.ts";
import { Tokenizers } from "./tokenizers.ts";

function tableOf(...entries: readonly (string | Uint8Array)[]): TokenTable {
  const all = entries.map((entry) => Buffer.from(entry));
  const starts = new Uint32Array(all.length + 1);
  for (const [id, { length }] of all.entries()) starts[id + 1] = (starts[id] ?? 0) + length;
  return { bytes: Buffer.concat(all), starts, control: new Set([0]) };
}

it("shows each token's own text, and the bytes of a character that tokens share", () => {
  const euro = Buffer.from("€");
  const table = tableOf(
    "<|end|>",
    "a",
    Buffer.concat([Buffer.from(" "), euro.subarray(0, 2)]),
    euro.subarray(2),
    "é",
  );
  expect(tokenTexts(table, [1, 2, 3, 4, 0, 99])).toEqual([
    { text: "a" },
    { text: " ‹E2 82›", isPart: true },
    { text: "‹AC›", isPart: true },
    { text: "é" },
    { text: "<|end|>", isControl: true },
    { text: "" },
  ]);
  expect(textOfTokens(table, [1, 2, 3, 4])).toBe("a €é");
});

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
  const ownTable = async () => {
    const { table, problem } = await tokenizers.of("shared");
    if (table === null) throw new Error(problem);
    return table;
  };
  await writeRun("blocksworld");
  const [first, again] = await Promise.all([ownTable(), ownTable()]);
  expect(again).toBe(first);
  await fs.rm(run, { recursive: true });
  await writeRun("sudoku");
  const all = [...first.starts.keys()];
  expect(textOfTokens(await ownTable(), all)).not.toBe(textOfTokens(first, all));
  await tokenizers.close();
});
