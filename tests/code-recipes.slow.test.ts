/**
 * Every included recipe of the folder `code` completes a training step from random weights of its model's architecture (head
 * size, shared keys and values, biases or norms of queries and keys, tied embeddings) and vocabulary, with fewer layers and a
 * smaller width, on problems of the same form as its data set's.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openEngine } from "../src/engines/open.ts";
import { initModel } from "../src/models/init.ts";
import type { Preset } from "../src/models/presets.ts";
import { loadTree } from "../src/recipes/load.ts";
import { resolveRecipe } from "../src/recipes/resolve.ts";
import { shippedRecipes } from "../src/recipes/shipped.ts";
import { plainOf, treeAt } from "../src/recipes/tree.ts";
import { readMetrics } from "../src/runs/read.ts";
import { likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { train } from "../src/train/run.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-code-recipes-"));
const at = (name: string): string => path.join(folder, name);
const recipes = Object.entries(shippedRecipes()).filter(([name]) => name.startsWith("code/"));

/** As many as HumanEval has, so that the recipes' slices are there. */
const rows = Array.from({ length: 164 }, (_, index) => ({
  task_id: `made/${index}`,
  prompt: `def add_${index}(number):\n    """Add ${index} to a number."""\n`,
  entry_point: `add_${index}`,
  canonical_solution: `    return number + ${index}\n`,
  test: `def check(candidate):\n    assert candidate(1) == ${index + 1}\n`,
}));

const narrow = { headSize: 128, hiddenSize: 32, layers: 2, intermediateSize: 64, maxLength: 4096 } as const;
/** The models that the recipes name. Heads per shared key and value are those of the originals: 16 to 2, 28 to 4, 16 to 8, 32 to 8. */
const models: Readonly<Record<string, Preset>> = {
  "Qwen2.5-Coder-3B": {
    ...narrow,
    architecture: "Qwen2ForCausalLM",
    tiedEmbeddings: true,
    heads: 8,
    keyValueHeads: 1,
  },
  "Qwen2.5-Coder-7B": {
    ...narrow,
    architecture: "Qwen2ForCausalLM",
    tiedEmbeddings: false,
    heads: 7,
    keyValueHeads: 1,
  },
  "Qwen3-1.7B": {
    ...narrow,
    architecture: "Qwen3ForCausalLM",
    tiedEmbeddings: true,
    heads: 4,
    keyValueHeads: 2,
  },
  "Qwen3-8B": {
    ...narrow,
    architecture: "Qwen3ForCausalLM",
    tiedEmbeddings: false,
    heads: 4,
    keyValueHeads: 1,
  },
};

let cache: string | undefined;

beforeAll(async () => {
  cache = process.env["TROUPE_CACHE"];
  process.env["TROUPE_CACHE"] = at("cache");
  mkdirSync(at("tokenizer"));
  writeLargeTokenizer(at("tokenizer"), likeQwen3);
  for (const [name, preset] of Object.entries(models)) {
    await initModel({ directory: at(name), preset, tokenizer: at("tokenizer"), seed: 1 });
  }
  writeFileSync(at("test.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
});
afterAll(() => {
  if (cache === undefined) delete process.env["TROUPE_CACHE"];
  else process.env["TROUPE_CACHE"] = cache;
  rmSync(folder, { recursive: true, force: true });
});

function rolesOf(name: string): readonly string[] {
  if (name.includes("single")) return ["coder"];
  if (name.includes("/at-grpo")) return ["coder", "tester"];
  return name.includes("/grpo") ? ["single"] : ["helper", "main"];
}

function policiesOf(name: string): readonly string[] {
  return name.includes("/grpo") ? ["coder"] : rolesOf(name);
}

/** Short replies, two of each task, of the baselines' other teams. */
function comparedIn(name: string, file: string): readonly string[] {
  if (!name.includes("/baselines")) return [];
  const teams = { single: ["single"], sequential: ["helper", "main"], discussion: ["helper", "main"] };
  return [
    ...Object.entries(teams).flatMap(([team, roles]) =>
      roles.map((role) => `evaluation.compare.${team}.roles.${role}.maxTokens=8`),
    ),
    `policies.single.model.path=${at(modelOf(file, "single"))}`,
    "evaluation.samples=2",
    "evaluation.passAt=[1,2]",
  ];
}

/** The name of the directory in which the recipe expects its policy's model. */
function modelOf(file: string, policy: string): string {
  return path.basename(String(plainOf(treeAt(loadTree(file), ["policies", policy, "model", "path"])!)));
}

describe("the included recipes of code", () => {
  it.each(recipes)("%s completes a step", { timeout: 180_000 }, async (name, file) => {
    const policies = policiesOf(name);
    const splits = { train: "test[32:]", validation: "test[16:32]", heldOut: "test[:16]" };
    const resolved = await resolveRecipe(file, [
      // Some recipes name a data set's configuration, which does not go with files.
      "environment.dataset=null",
      `environment.dataset=${JSON.stringify({ files: { test: at("test.jsonl") }, form: "humaneval" })}`,
      ...rolesOf(name).map((each) => `team.roles.${each}.maxTokens=8`),
      ...(name.startsWith("code/at-grpo") ? [`environment.splits=${JSON.stringify(splits)}`] : []),
      "train.tasksPerStep=1",
      "train.steps=1",
      "evaluation.tasks=1",
      ...comparedIn(name, file),
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
    expect(Object.keys(step?.policies ?? {})).toEqual(policies);
  });
});
