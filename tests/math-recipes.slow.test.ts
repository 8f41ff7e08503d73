/**
 * Every included recipe of the folder `math` completes a training step from random weights of its model's architecture (head
 * size, shared keys and values, biases or norms of queries and keys, tied embeddings), vocabulary and kind of chat template,
 * with fewer layers and a smaller width, on local problems.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openEngine } from "../src/engines/open.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";
import { coachServer, type CoachServer } from "../src/judges/coach/testing/coach-server.ts";
import { initModel } from "../src/models/init.ts";
import type { Preset } from "../src/models/presets.ts";
import { loadTree } from "../src/recipes/load.ts";
import { resolveRecipe } from "../src/recipes/resolve.ts";
import { shippedRecipes } from "../src/recipes/shipped.ts";
import { plainOf, treeAt } from "../src/recipes/tree.ts";
import { readMetrics } from "../src/runs/read.ts";
import { likeDeepSeekR1, likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { train } from "../src/train/run.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-math-recipes-"));
const at = (name: string): string => path.join(folder, name);
const recipes = Object.entries(shippedRecipes()).filter(([name]) => name.startsWith("math/"));

const narrow = { headSize: 128, hiddenSize: 32, layers: 2, intermediateSize: 64, maxLength: 4096 } as const;

interface Model extends Preset {
  readonly tokenizer: "qwen" | "deepseek";
}

/** Heads per shared key and value are those of the originals: 16 to 8, 32 to 8, 12 to 2. */
const models: Readonly<Record<string, Model>> = {
  "Qwen3-1.7B": {
    ...narrow,
    architecture: "Qwen3ForCausalLM",
    tiedEmbeddings: true,
    heads: 4,
    keyValueHeads: 2,
    tokenizer: "qwen",
  },
  "Qwen3-4B": {
    ...narrow,
    architecture: "Qwen3ForCausalLM",
    tiedEmbeddings: true,
    heads: 4,
    keyValueHeads: 1,
    tokenizer: "qwen",
  },
  "DeepSeek-R1-Distill-Qwen-1.5B": {
    ...narrow,
    architecture: "Qwen2ForCausalLM",
    tiedEmbeddings: false,
    heads: 6,
    keyValueHeads: 1,
    tokenizer: "deepseek",
  },
};

const rows = Array.from({ length: 8 }, (_, index) => ({
  text: `Find the sum of all ${index + 3} smallest numbers that are squares and odd at the same time.`,
  result: index,
}));

let cache: string | undefined;
let coach: CoachServer;

beforeAll(async () => {
  cache = process.env["TROUPE_CACHE"];
  process.env["TROUPE_CACHE"] = at("cache");
  coach = await coachServer((_, number) => ({ reason: "", blame: "none", score: number % 11 }));
  for (const [name, tokenizer] of Object.entries({ qwen: likeQwen3, deepseek: likeDeepSeekR1 })) {
    mkdirSync(at(name));
    writeLargeTokenizer(at(name), tokenizer);
  }
  for (const [name, { tokenizer, ...preset }] of Object.entries(models))
    await initModel({ directory: at(name), preset, tokenizer: at(tokenizer), seed: 1 });
  writeFileSync(at("train.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
});
afterAll(async () => {
  await coach[Symbol.asyncDispose]();
  if (cache === undefined) delete process.env["TROUPE_CACHE"];
  else process.env["TROUPE_CACHE"] = cache;
  rmSync(folder, { recursive: true, force: true });
});

/** What the recipe has below `team.roles` or `policies`. */
function namesIn(file: string, key: readonly string[]): readonly string[] {
  const found = plainOf(treeAt(loadTree(file), key)!) as Readonly<Record<string, unknown>>;
  return Object.keys(found).filter((name) => found[name] !== null);
}

/** The coach of a recipe is one on this machine. It replaces a judge in the team, who, untrained, writes no scores. */
function coachIn(file: string): readonly string[] {
  const judge = treeAt(loadTree(file), ["judge"]);
  if (judge === undefined) return [];
  const { name, ...others } = plainOf(judge) as Readonly<Record<string, unknown>>;
  const served = { name: "coach", provider: "compatible", model: "tiny", baseUrl: coach.address };
  const price = { input: 1, output: 1 };
  const own = name === "coach" ? { ...others, ...served, price } : served;
  return ["judge=null", `judge=${JSON.stringify(own)}`];
}

/** The directory in which the recipe expects its policy's model. */
function modelOf(file: string, policy: string): string {
  return path.basename(String(plainOf(treeAt(loadTree(file), ["policies", policy, "model", "path"])!)));
}

describe.runIf(works)("the included recipes of mathematics", () => {
  it.each(recipes)("%s completes a step", { timeout: 180_000 }, async (name, file) => {
    const policies = namesIn(file, ["policies"]);
    const dataset = { files: { train: at("train.jsonl") }, fields: { prompt: "text", answer: "result" } };
    const splits = { train: "train[4:]", validation: "train[2:4]", heldOut: "train[:2]" };
    const resolved = await resolveRecipe(file, [
      `environment.dataset=${JSON.stringify(dataset)}`,
      "environment.splits=null",
      `environment.splits=${JSON.stringify(splits)}`,
      ...namesIn(file, ["team", "roles"]).map((role) => `team.roles.${role}.maxTokens=8`),
      "train.tasksPerStep=1",
      "train.steps=1",
      "train.minibatches=1",
      "train.warmupSteps=0",
      "evaluation.tasks=1",
      "evaluation.samples=1",
      ...coachIn(file),
      ...policies.map((each) => `policies.${each}.model.path=${at(modelOf(file, each))}`),
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
    expect(Object.keys(step?.policies ?? {})).toEqual(policies.filter((each) => each !== "judge"));
  });
});
