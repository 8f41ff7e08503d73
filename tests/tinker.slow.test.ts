/** The same training on the local engine and on `troupe serve` in another process has the same metrics and episodes. */
import fs from "node:fs/promises";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCommand, troupe, type Outcome } from "../src/cli/testing/command.ts";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { openEngine, type EngineSettingsInput } from "../src/engines/open.ts";
import { startServing } from "../src/engines/testing/serving.ts";
import { initModel } from "../src/models/init.ts";
import { presets } from "../src/models/presets.ts";
import { temporaryFolder } from "../src/models/test-model.ts";
import type { RecipeInput } from "../src/recipes/schema.ts";
import { readEpisodes } from "../src/rollout/stored.ts";
import { recipeToYaml } from "../src/recipes/write.ts";
import { writeWordTokenizer } from "../src/text/word-tokenizer.ts";
import { train } from "../src/train/run.ts";
import { recordsOf } from "../src/train/testing/records-of.ts";
import { tinyRecipe, wordsOf } from "../src/train/testing/tiny-recipe.ts";

const folder = temporaryFolder();
const model = path.join(folder, "nano");
const tokenizer = path.join(folder, "tokenizer");
writeWordTokenizer(tokenizer, wordsOf(tinyRecipe()));
await initModel({ directory: model, preset: presets.nano, tokenizer, seed: 1 });
const serving = await startServing([model], { folder: path.join(folder, "served") });
afterAll(() => serving.stop());

const local = { type: "local", threads: 1, precision: "float32" } as const;
const remote = { type: "tinker", url: serving.url, profile: "troupe" } as const;

/** Whole model and adapter, critics, references, warm start, evaluations, minibatches. */
async function trained(
  name: string,
  engine: EngineSettingsInput,
  changes: Partial<RecipeInput> = {},
): Promise<string> {
  const role = { prompt: "", maxTokens: 8 };
  const resolved = tinyRecipe({
    team: {
      roles: { scout: { ...role, policy: "whole" }, planner: { ...role, policy: "adapted" } },
      phases: [["scout"], ["planner"]],
      turns: 2,
    },
    policies: {
      whole: { model: { path: model } },
      adapted: { model: { path: model }, adapter: { rank: 4 } },
    },
    evaluation: { tasks: 4, every: 2 },
    engine,
    ...changes,
  });
  const algorithm = algorithmFrom("ppo", { samples: 3, kl: { where: "loss", coefficient: 0.01 } });
  const directory = path.join(folder, name);
  const opened = openEngine(engine);
  try {
    const { status } = await train({ ...resolved, algorithm, directory, engine: opened });
    expect(status).toBe("finished");
  } finally {
    await opened.close();
  }
  return directory;
}

test("the same metrics and episodes, bit for bit", { timeout: 240_000 }, async () => {
  const runs = [await trained("local", local), await trained("remote", remote)];
  const metrics = await Promise.all(runs.map(async (run) => (await recordsOf(run))["metrics.jsonl"]));
  expect(uncounted(metrics[1])).toEqual(uncounted(metrics[0]));
  const episodes = await Promise.all(runs.map(episodesOf));
  expect(episodes[0]?.length).toBeGreaterThan(4);
  expect(episodes[1]).toEqual(episodes[0]);
  expect(
    (await fs.readFile(path.join(folder, "remote", "metrics.jsonl"), "utf8")).split("\n").length,
  ).toBeGreaterThan(4);
});

test("adapters on a base that the warm start trained are the same", { timeout: 240_000 }, async () => {
  const changes: Partial<RecipeInput> = {
    policies: {
      whole: { model: { path: model }, adapter: { rank: 2, alpha: 8 } },
      adapted: { model: { path: model }, adapter: { rank: 4 } },
    },
    warmStart: { steps: 2, demonstrationsPerStep: 4, learningRate: 0.003, teach: "bases" },
    train: { steps: 2, tasksPerStep: 3, learningRate: 0.001 },
  };
  await trained("taught-local", local, changes);
  await trained("taught-remote", remote, changes);
  const metricsOf = async (run: string) => uncounted((await read(`${run}/metrics.jsonl`)).toString());
  expect(await metricsOf("taught-remote")).toEqual(await metricsOf("taught-local"));
  expect((await downloaded("taught-remote", "adapted")).stderr).toContain("its base is nano-taught");
  expect((await downloaded("taught-remote", "nano-taught")).code).toBe(0);
  const taught = await read("taught-local/models/nano-taught/model.safetensors");
  expect((await read("nano-taught-out/model.safetensors")).equals(taught)).toBe(true);
});

test("those adapters are evaluated with their base", { timeout: 120_000 }, async () => {
  const { services: _, ...found } = (await evaluated("taught-remote")) as { services?: unknown };
  expect(found).toEqual(await evaluated("taught-local"));
});

async function evaluated(run: string): Promise<object> {
  const eight = ["--tasks", "8", "--json"];
  const { code, stdout } = await runCommand(["eval", path.join(folder, run), ...eight], { cwd: folder });
  expect(code).toBe(0);
  return { ...(JSON.parse(stdout) as object), roles: null, seconds: null };
}

function read(file: string): Promise<Buffer> {
  return fs.readFile(path.join(folder, file));
}

function downloaded(run: string, policy: string): Promise<Outcome> {
  const place = ["--policy", policy, "--out", `${policy}-out`];
  return runCommand(["runs", "weights", path.join(folder, run), ...place], { cwd: folder });
}

test("what the server keeps of the run is listed, downloaded and deleted", { timeout: 120_000 }, async () => {
  const weights = (...more: string[]) =>
    runCommand(["runs", "weights", path.join(folder, "remote"), ...more], { cwd: folder });
  const listed = await weights();
  expect(listed.stdout).toMatch(/adapted +\d+ +tinker:\/\//);
  const out = path.join(folder, "downloaded");
  expect((await weights("--out", out)).stderr).toContain("choose one with --policy");
  expect((await weights("--policy", "adapted", "--out", out, "--base", model)).code).toBe(0);
  const opened = openEngine(local);
  const { trainableParameters } = await opened.createPolicy({ name: "downloaded", model: out });
  expect(trainableParameters).toBeGreaterThan(0);
  await opened.close();
  expect((await weights("--delete")).stdout).toContain("deleted");
  const gone = await weights();
  expect([gone.code, gone.stdout]).toEqual([2, ""]);
  expect(gone.stderr).toMatch(/^\d+ more are named by checkpoints, but deleted\n.*servers keep nothing of/s);
  expect(
    (await runCommand(["runs", "weights", path.join(folder, "local")], { cwd: folder })).stderr,
  ).toContain("servers keep nothing");
});

test(
  "stopped while its server is gone, a run ends with a reason, and resumes the same",
  { timeout: 240_000 },
  async () => {
    const served = path.join(folder, "vanishing");
    const first = await startServing([model], { folder: served });
    const port = Number(new URL(first.url).port);
    const policies = { shared: { model: { path: model } } };
    const steps = { steps: 12, tasksPerStep: 3, learningRate: 0.001 };
    const { recipe } = tinyRecipe({ policies, train: steps, engine: { ...remote, url: first.url } });
    await fs.writeFile(path.join(folder, "vanishing.yaml"), recipeToYaml(recipe, folder));
    const go = (run: string, watch?: (output: string, interrupt: () => void) => void) =>
      troupe(["train", "vanishing.yaml", "--run", run], { cwd: folder, ...(watch && { watch }) });
    const killed: Promise<void>[] = [];
    const stopped = await go("stopped", (output, interrupt) => {
      if (output.includes("step 5/12")) killed[0] ??= first.kill();
      if (output.includes("has not answered for")) interrupt();
    });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toMatch(
      /cannot be reached: connect ECONNREFUSED .* waited for \d+ s\.\nstopped after step \d+; the same command resumes after step \d+/,
    );
    await killed[0];
    const second = await startServing([model], { folder: served, port });
    expect((await go("stopped")).stderr).toMatch(/resumed after step \d/);
    expect((await go("whole")).code).toBe(0);
    await second.stop();
    const [found, expected] = [await recordsOf(runOf("stopped")), await recordsOf(runOf("whole"))];
    expect(found["metrics.jsonl"]).toBe(expected["metrics.jsonl"]);
  },
);

const runOf = (name: string): string => path.join(folder, "runs", name);

/** Without the entropies, which the protocol does not tell. */
async function episodesOf(run: string): Promise<object[]> {
  const found: object[] = [];
  for await (const { entry, episode, credit } of readEpisodes(run)) {
    const actions = episode.actions.map((action) => ({ ...action, entropies: undefined }));
    const { id, step } = entry;
    found.push({ id, step, credit, episode: { ...episode, actions } });
  }
  return found;
}

/** Without the counts of the engine's verbs, which only one behind a server has. */
function uncounted(text: string | undefined): string | undefined {
  return text?.replaceAll(/,"services":\{"engine":\{[^{}]*\}\}/g, "");
}
