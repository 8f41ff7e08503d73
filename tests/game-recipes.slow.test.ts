/**
 * The recipes of the folder `at-grpo-games` complete a training step from random weights with a vocabulary as large as
 * Qwen3's, in each way to share weights; what their programs did is recorded.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { troupe } from "../src/cli/testing/command.ts";
import { openEngine } from "../src/engines/open.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";
import { initModel } from "../src/models/init.ts";
import { presets } from "../src/models/presets.ts";
import { resolveRecipe } from "../src/recipes/resolve.ts";
import { shippedRecipes } from "../src/recipes/shipped.ts";
import { readMetrics } from "../src/runs/read.ts";
import { likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { train } from "../src/train/run.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-game-recipes-"));
const at = (name: string): string => path.join(folder, name);
const recipes = Object.entries(shippedRecipes()).filter(([name]) => name.startsWith("at-grpo-games/"));

beforeAll(async () => {
  mkdirSync(at("tokenizer"));
  writeLargeTokenizer(at("tokenizer"), likeQwen3);
  const small = { hiddenSize: 16, headSize: 8, heads: 2, keyValueHeads: 1, maxLength: 8192 };
  const preset = { ...presets.nano, ...small };
  await initModel({ directory: at("model"), preset, tokenizer: at("tokenizer"), seed: 1 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Trains one step. @returns the run's folder */
async function trained(name: string, run: string, changes: readonly string[] = []): Promise<string> {
  const writer = name.includes("plan-path") ? "scout" : "proposer";
  const resolved = await resolveRecipe(shippedRecipes()[name] ?? "", [
    ...["planner", writer].map((policy) => `policies.${policy}.model.path=${at("model")}`),
    ...["planner", writer].map((role) => `team.roles.${role}.maxTokens=8`),
    "evaluation.compare.single-agent.roles.planner.maxTokens=8",
    "train.tasksPerStep=1",
    "train.minibatches=1",
    "train.steps=1",
    "evaluation.tasks=1",
    "team.turns=1",
    ...changes,
  ]);
  expect(resolved.recipe.name).toBe(name.replace("/", "-"));
  expect(resolved.recipe.description).not.toBe("");
  const engine = openEngine(resolved.recipe.engine);
  try {
    expect((await train({ ...resolved, directory: at(run), engine })).status).toBe("finished");
  } finally {
    await engine.close();
  }
  return at(run);
}

const trainedIn = async (run: string): Promise<readonly string[]> =>
  Object.keys((await readMetrics(run))[0]?.policies ?? {}).toSorted();

describe("the recipes of at-grpo-games", () => {
  const usable = recipes.filter(([name]) => works || name.endsWith("-direct"));
  it.each(usable)("%s completes a step", { timeout: 180_000 }, async (name) => {
    const run = await trained(name, path.basename(name));
    expect(await trainedIn(run)).toEqual(["planner", name.includes("plan-path") ? "scout" : "proposer"]);
    const ran = existsSync(path.join(run, "programs.jsonl"));
    expect(ran).toBe(name.endsWith("-program"));
  });

  it.each([
    ["one model", ["team.roles.scout.policy=planner", "policies.scout=null"], ["planner"]],
    [
      "adapters",
      ["policies.scout.adapter.rank=16", "policies.planner.adapter.rank=16"],
      ["planner", "scout"],
    ],
  ])("share %s", { timeout: 180_000 }, async (title, changes, policies) => {
    const run = await trained("at-grpo-games/plan-path-direct", title.replace(" ", "-"), changes);
    expect(await trainedIn(run)).toEqual(policies);
  });

  it.runIf(works)("are replayed without running a program again", { timeout: 180_000 }, async () => {
    const run = await trained("at-grpo-games/sudoku-program", "replayed");
    const recorded = readFileSync(path.join(run, "programs.jsonl"), "utf8");
    expect(recorded).not.toBe("");
    // No such backend: a program that is not recorded could not run.
    const env = { TROUPE_SANDBOX: "container", PATH: "/nowhere" };
    const { stdout, stderr, code } = await troupe(["replay", run], { cwd: folder, env });
    expect(`${stdout}${stderr}`).toMatch(/same|no difference/i);
    expect(code).toBe(0);
  });
});
