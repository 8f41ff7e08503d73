/**
 * Every included recipe of the folder `data-science` completes a training step from random weights of its model's architecture
 * (head size, shared keys and values, norms of queries and keys, tied embeddings) and vocabulary, with fewer layers and a
 * smaller width, on tasks in DSBench's form. The coach of a recipe is one on this machine.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openEngine } from "../src/engines/open.ts";
import { convertDsbench } from "../src/environments/data-science/tasks/dsbench.ts";
import { writeDsbench } from "../src/environments/data-science/testing/dsbench-folder.ts";
import { coachServer, type CoachServer } from "../src/judges/coach/testing/coach-server.ts";
import { initModel } from "../src/models/init.ts";
import type { Preset } from "../src/models/presets.ts";
import { loadTree } from "../src/recipes/load.ts";
import { resolveRecipe } from "../src/recipes/resolve.ts";
import { shippedRecipes } from "../src/recipes/shipped.ts";
import { plainOf, treeAt } from "../src/recipes/tree.ts";
import { readMetrics } from "../src/runs/read.ts";
import { hasPackages } from "../src/sandbox/packages/testing.ts";
import { likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { train } from "../src/train/run.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-data-science-recipes-"));
const at = (name: string): string => path.join(folder, name);
const recipes = Object.entries(shippedRecipes()).filter(([name]) => name.startsWith("data-science/"));
const seats = ["data-engineer", "modeler", "analyst"];

/** Heads per shared key and value are those of Qwen3-4B: 32 to 8. */
const preset: Preset = {
  architecture: "Qwen3ForCausalLM",
  tiedEmbeddings: true,
  headSize: 128,
  hiddenSize: 32,
  heads: 4,
  keyValueHeads: 1,
  layers: 2,
  intermediateSize: 64,
  maxLength: 8192,
};

const tasks = {
  titanic: "mushrooms",
  "spaceship-titanic": "mushrooms",
  "playground-series-s3e1": "crop-yield",
  "tabular-playground-series-jan-2021": "concrete-strength",
  "tabular-playground-series-may-2022": "readmission",
  "playground-series-s4e1": "machine-failure",
  "playground-series-s3e2": "readmission",
  "playground-series-s3e3": "readmission",
  "playground-series-s3e4": "readmission",
};

let coach: CoachServer;

beforeAll(async () => {
  coach = await coachServer((_, number) => ({ reason: "", blame: "none", score: number % 11 }));
  writeDsbench(at("source"), tasks);
  await convertDsbench({ source: at("source"), target: at("dsbench") });
  mkdirSync(at("tokenizer"));
  writeLargeTokenizer(at("tokenizer"), likeQwen3);
  await initModel({ directory: at("Qwen3-4B"), preset, tokenizer: at("tokenizer"), seed: 1 });
});
afterAll(async () => {
  await coach[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function coachIn(file: string): readonly string[] {
  const judge = treeAt(loadTree(file), ["judge"]);
  const given = judge === undefined ? null : plainOf(judge);
  if (given === null) return [];
  const served = { name: "coach", provider: "compatible", model: "tiny", baseUrl: coach.address };
  const own = { ...(given as object), ...served, price: { input: 1, output: 1 } };
  return ["judge=null", `judge=${JSON.stringify(own)}`];
}

describe.runIf(hasPackages)("the included recipes of data science", () => {
  it.each(recipes)("%s completes a step", { timeout: 300_000 }, async (name, file) => {
    const resolved = await resolveRecipe(file, [
      ...(name.includes("dsbench") ? [`environment.tasks=${at("dsbench")}`] : []),
      ...seats.map((role) => `team.roles.${role}.maxTokens=8`),
      "train.tasksPerStep=1",
      "train.steps=1",
      "train.minibatches=1",
      "train.warmupSteps=0",
      "evaluation.tasks=1",
      "evaluation.samples=1",
      ...coachIn(file),
      ...seats.map((each) => `policies.${each}.model.path=${at("Qwen3-4B")}`),
    ]);
    expect(resolved.recipe.name).toBe(name.replace("/", "-"));
    const run = at(name.replace("/", "-"));
    const engine = openEngine(resolved.recipe.engine);
    try {
      expect((await train({ ...resolved, directory: run, engine })).status).toBe("finished");
    } finally {
      await engine.close();
    }
    const [step] = await readMetrics(run);
    expect(Object.keys(step?.policies ?? {})).toEqual(seats);
  });
});
