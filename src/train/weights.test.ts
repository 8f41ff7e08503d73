/**
 * Policies of finished runs, recombined on the real engine: every way of sharing, in teams they were not trained in.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { baseOf } from "../models/adapter-base.ts";
import { initModel } from "../models/init.ts";
import { temporaryFolder } from "../models/test-model.ts";
import type { Engine } from "../engines/engine.ts";
import { openEngine } from "../engines/open.ts";
import { openSafetensors, readTensor } from "../models/safetensors.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import type { RunResult } from "../runs/records.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import type { Scores } from "./scores.ts";
import { evaluatePolicies } from "./evaluate.ts";
import type { RoleWeights, Weights } from "./weights.ts";
import { openTeam, openSavedRun, policyNamed, weightsOfDirectory, weightsOfPolicy } from "./weights.ts";
import type { Resolved } from "./state.ts";
import { namedTeams } from "./teams.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { train } from "./run.ts";

const nano = { model: { preset: "nano" } };
const adapter = { rank: 2, alpha: 4 };
const role = (policy: string, frozen = false) => ({ policy, prompt: "", maxTokens: 8, frozen });
const warmStart = { steps: 8, demonstrationsPerStep: 8, learningRate: 0.006 };
const brief = {
  warmStart,
  train: { steps: 2, tasksPerStep: 2, learningRate: 0.001 },
  evaluation: { tasks: 6 },
  checkpoint: { every: 8 },
};

const two = { phases: [["scout"], ["planner"]], turns: 2 };

function perRole(
  policies: RecipeInput["policies"],
  changes: Partial<RecipeInput> = {},
): Partial<RecipeInput> {
  const [scout = "", planner = ""] = Object.keys(policies);
  const roles = { scout: role(scout), planner: role(planner) };
  return { ...brief, policies, team: { ...two, roles }, ...changes };
}

const alone = { roles: { planner: role("solo") }, phases: [["planner"]], turns: 2 };
const recipes: Readonly<Record<string, Partial<RecipeInput>>> = {
  shared: brief,
  whole: perRole({ scout: nano, planner: nano }),
  adapters: perRole({ scout: { ...nano, adapter }, planner: { ...nano, adapter } }),
  bases: perRole(
    { eyes: { ...nano, adapter }, legs: { ...nano, adapter } },
    { warmStart: { ...warmStart, teach: "bases" }, checkpoint: { every: 1 } },
  ),
  single: { ...brief, policies: { solo: nano }, team: alone, algorithm: { name: "grpo", samples: 3 } },
  sizes: perRole({ scout: nano, planner: { model: { preset: "tiny" } } }),
  untrained: { ...brief, warmStart: undefined, train: { steps: 0, tasksPerStep: 1, learningRate: 1 } },
  learning: perRole({ scout: nano, planner: nano }, { warmStart: undefined }),
  frozen: perRole(
    { scout: nano, planner: nano },
    {
      warmStart: undefined,
      team: { ...two, roles: { scout: role("scout", true), planner: role("planner") } },
    },
  ),
};

const root = temporaryFolder();
const results = new Map<string, RunResult>();
/** Bytes that the engine held at the end. */
const memory = new Map<string, number>();
beforeAll(async () => {
  for (const [name, changes] of Object.entries(recipes)) await trainRun(name, changes);
});

async function trainRun(name: string, changes: Partial<RecipeInput>): Promise<void> {
  await using engine = closing(openEngine({ threads: 1, precision: "float32" }));
  const directory = path.join(root, name);
  const outcome = await train({ ...tinyRecipe(changes), directory, engine: engine.value });
  if (outcome.status === "finished") results.set(name, outcome.result);
  memory.set(name, engine.value.memoryBytes ?? 0);
}

function closing(value: Engine): AsyncDisposable & { value: Engine } {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

async function weightsFrom(run: string, name: string): Promise<Weights> {
  const saved = await openSavedRun(path.join(root, run));
  return weightsOfPolicy(saved, policyNamed(saved, name), path.join(root, "scratch"));
}

interface Evaluated {
  readonly scores: Scores;
  /** Tokens of each action. */
  readonly said: readonly Int32Array[];
  readonly policies: readonly string[];
}

async function play(
  { recipe, environment }: Resolved,
  weights: RoleWeights,
  options: { seed?: number; temperature?: number } = {},
): Promise<Evaluated> {
  await using engine = closing(openEngine({ threads: 1, precision: "float32" }));
  const [own] = namedTeams(recipe, environment);
  if (own === undefined) throw new Error("unreachable: a recipe has a team");
  const open = await openTeam(engine.value, environment, own.team, weights);
  const greedy = { tasks: 6, temperature: 0, topP: 1 };
  const setting = { engine: engine.value, environment, ...open, ...greedy, ...options };
  const { scores, episodes } = await evaluatePolicies(setting);
  const said = episodes.flatMap(({ actions }) => actions.map(({ tokens }) => tokens));
  return { scores, said, policies: Object.keys(open.policies) };
}

/** Of a policy or role of a run each. */
async function pairFrom(scout: readonly [string, string], planner: readonly [string, string]) {
  return { scout: await weightsFrom(...scout), planner: await weightsFrom(...planner) };
}

const ownWeights = (run: string): Promise<RoleWeights> => weightsOf(run, recipes[run]);

async function weightsOf(run: string, changes: Partial<RecipeInput> | undefined): Promise<RoleWeights> {
  const { recipe } = tinyRecipe(changes);
  const roles = Object.keys(recipe.team.roles);
  return Object.fromEntries(
    await Promise.all(roles.map(async (name) => [name, await weightsFrom(run, name)] as const)),
  );
}

const policiesOf = async (run: string) =>
  (await play(tinyRecipe(recipes[run]), await ownWeights(run))).policies;

describe("a run's team, reopened", () => {
  test.each(Object.keys(recipes))("%s: plays exactly as at the end of the run", async (run) => {
    const after = results.get(run)?.table.find(({ team, moment }) => team === "team" && moment === "after");
    const { scores } = await play(tinyRecipe(recipes[run]), await ownWeights(run));
    expect(after).toMatchObject(scores);
  });

  test("weights that roles share are loaded once", async () => {
    expect(await policiesOf("shared")).toEqual(["shared:shared"]);
    expect(await policiesOf("whole")).toHaveLength(2);
  });
});

test("a frozen policy costs no memory for training: no gradient, no moments", () => {
  const size = results.get("frozen")?.policies["scout"]?.parameters ?? Number.NaN;
  const more = (memory.get("learning") ?? 0) - (memory.get("frozen") ?? 0);
  // Gradient and both moments in float32; sampled lengths differ, so caches differ a little too.
  expect(more / (3 * 4 * size)).toBeGreaterThan(0.9);
});

test("models with different tokenizers train side by side and play together", async () => {
  const [words, model] = [path.join(root, "reversed"), path.join(root, "mine")];
  writeWordTokenizer(words, wordsOf(tinyRecipe()).toReversed());
  await initModel({ directory: model, preset: "nano", tokenizer: words, seed: 5 });
  const changes = perRole({ scout: { model: { path: model } }, planner: nano });
  await trainRun("mixed", changes);
  const after = results.get("mixed")?.table.find(({ moment }) => moment === "after");
  const own = await weightsOf("mixed", changes);
  expect(after).toMatchObject((await play(tinyRecipe(changes), own)).scores);
  const weights = await pairFrom(["whole", "scout"], ["mixed", "scout"]);
  expect((await play(tinyRecipe(changes), weights)).scores.tasks).toBe(6);
});

describe("policies in other teams", () => {
  const form = tinyRecipe(recipes["whole"]);

  test("roles swapped", async () => {
    const weights = await pairFrom(["whole", "planner"], ["whole", "scout"]);
    const { said, policies } = await play(form, weights);
    expect(policies).toEqual(["whole:planner", "whole:scout"]);
    const own = await play(form, await ownWeights("whole"));
    expect(said).not.toEqual(own.said);
  });

  test("trained alone, evaluated in the team; whole model next to adapters, mixed sizes", async () => {
    for (const [scout, planner] of [
      ["shared", "single"],
      ["bases", "single"],
      ["adapters", "bases"],
      ["sizes", "sizes"],
      ["untrained", "frozen"],
    ] as const) {
      const weights = await pairFrom([scout, "scout"], [planner, "planner"]);
      expect((await play(form, weights)).scores.tasks).toBe(6);
    }
  });

  test("sampling depends on the seed, tasks do not", async () => {
    const weights = await ownWeights("shared");
    const at = (seed: number) => play(tinyRecipe(recipes["shared"]), weights, { seed, temperature: 1 });
    const [first, again, other] = [await at(1), await at(1), await at(2)];
    expect(again.scores).toEqual(first.scores);
    expect(other.scores).not.toEqual(first.scores);
  });

  test("an adapter's directory knows its base", async () => {
    const { place } = await weightsFrom("adapters", "scout");
    const found = await weightsOfDirectory(place);
    expect(baseOf(place)).toBe(path.join(root, "adapters", "models", "nano"));
    const weights = { scout: found, planner: await weightsFrom("adapters", "planner") };
    const { scores } = await play(form, await ownWeights("adapters"));
    expect((await play(form, weights)).scores).toEqual(scores);
    const lost = path.join(root, "lost");
    await fs.mkdir(lost);
    await fs.writeFile(path.join(lost, "adapter_config.json"), '{"base_model_name_or_path":"nowhere"}');
    await expect(weightsOfDirectory(lost)).rejects.toThrow('names the base "nowhere"');
  });
});

test("a trained base that was replaced is rejected, by a resumed run and by what reads it", async () => {
  const changes = recipes["bases"] as RecipeInput;
  const directory = path.join(root, "replaced");
  await fs.cp(path.join(root, "bases"), directory, { recursive: true });
  // As if it had been interrupted after the step before the last.
  for (const last of ["result.json", "checkpoints/step-10"])
    await fs.rm(path.join(directory, last), { recursive: true });
  const base = path.join(directory, "models", "nano-taught", "model.safetensors");
  const weights = await fs.readFile(base);
  await fs.copyFile(path.join(directory, "models", "nano", "model.safetensors"), base);
  const resume = async () => {
    await using engine = closing(openEngine({ threads: 1, precision: "float32" }));
    return await train({ ...tinyRecipe(changes), directory, engine: engine.value });
  };
  const problem =
    /nano-taught is not the model that the warm start of the bases made: model\.safetensors differs/;
  await expect(resume()).rejects.toThrow(problem);
  await expect(weightsFrom("replaced", "eyes")).rejects.toThrow(problem);
  await fs.writeFile(base, weights);
  expect(await resume()).toMatchObject({ status: "finished" });
});

test("a policy continues an adapter of another run, with a critic that starts from it", async () => {
  const { place: directory } = await weightsFrom("adapters", "scout");
  const model = { path: directory };
  const changes = perRole(
    { scout: { model, adapter }, planner: { model } },
    {
      warmStart: undefined,
      algorithm: { name: "ppo", samples: 2 },
      team: { ...two, roles: { scout: role("scout"), planner: role("planner", true) } },
    },
  );
  await trainRun("gone-on", changes);
  const run = path.join(root, "gone-on");
  const matrix = /lora_B/;
  const [first, began, learned, critic] = await Promise.all(
    [
      directory,
      path.join(run, "beginning/scout"),
      path.join(run, "checkpoints/step-2/scout"),
      path.join(run, "checkpoints/step-2/critic-scout"),
    ].map((folder) => matricesOf(folder, matrix)),
  );
  expect(began).toEqual(first);
  expect(learned).not.toEqual(first);
  // Two small steps away from its start, not from zero, which these matrices are in a fresh adapter.
  expect(critic).not.toEqual(first);
  const distance = (other: readonly number[]) =>
    Math.hypot(...other.map((value, i) => value - (first?.[i] ?? 0)));
  expect(distance(critic ?? [])).toBeLessThan(Math.hypot(...(first ?? [])));
  expect(await weightsFrom("gone-on", "scout")).toMatchObject({ model: directory, step: 2 });
  const untouched = { model: directory, from: null, step: null };
  expect(await weightsFrom("gone-on", "planner")).toMatchObject(untouched);
  expect((await play(tinyRecipe(changes), await ownWeights("gone-on"))).scores.tasks).toBe(6);
});

async function matricesOf(folder: string, names: RegExp): Promise<readonly number[]> {
  const file = await openSafetensors(path.join(folder, "adapter_model.safetensors"));
  const matching = [...file.tensors.keys()].filter((name) => names.test(name)).toSorted();
  const values = await Promise.all(matching.map((name) => readTensor(file, name)));
  return values.flatMap((each) => [...each]);
}

describe("which weights a name means", () => {
  test("a role of the team, or a policy", async () => {
    const run = await openSavedRun(path.join(root, "bases"));
    expect([policyNamed(run, "scout"), policyNamed(run, "legs")]).toEqual(["eyes", "legs"]);
    expect(() => policyNamed(run, "leg")).toThrow("did you mean `legs`?");
    const team = { ...two, roles: { scout: role("planner"), planner: role("scout") } };
    const { recipe } = tinyRecipe(perRole({ scout: nano, planner: nano }, { team }));
    expect(() => policyNamed({ ...run, recipe }, "scout")).toThrow("uses the policy planner");
  });

  test("a trained policy is in the newest checkpoint, a frozen one where it started", async () => {
    const place = path.join(root, "frozen", "checkpoints", "step-2", "planner");
    expect(await weightsFrom("frozen", "planner")).toMatchObject({ place, step: 2 });
    const began = path.join(root, "frozen", "models", "nano");
    expect(await weightsFrom("frozen", "scout")).toMatchObject({ model: began, from: null, step: null });
    expect(results.get("frozen")?.policies["scout"]?.directory).toBe(path.join("models", "nano"));
    expect(await fs.readdir(path.join(root, "frozen", "checkpoints", "step-2"))).not.toContain("scout");
  });

  test("an older checkpoint, and a run without one", async () => {
    const at = path.join(root, "whole", "checkpoints", "step-8");
    const older = await openSavedRun(path.join(root, "whole"), at);
    const place = path.join(at, "scout");
    expect(await weightsOfPolicy(older, "scout", root)).toMatchObject({ place, step: 8 });
    for (const run of ["whole", "bases"]) {
      const bare = path.join(root, `bare-${run}`);
      await fs.mkdir(bare);
      await fs.copyFile(path.join(root, run, "recipe.yaml"), path.join(bare, "recipe.yaml"));
      const saved = await openSavedRun(bare);
      await expect(weightsOfPolicy(saved, policyNamed(saved, "scout"), root)).rejects.toThrow(
        "has no checkpoint of",
      );
    }
  });

  test("an untrained model that was removed is created again identically", async () => {
    const copy = path.join(root, "copy");
    await fs.cp(path.join(root, "untrained"), copy, { recursive: true });
    await fs.rm(path.join(copy, "models"), { recursive: true });
    const { place } = await weightsFrom("copy", "shared");
    const [made, first] = [place, path.join(root, "untrained", "models", "nano")].map((folder) =>
      fs.readFile(path.join(folder, "model.safetensors")),
    );
    expect(await made).toEqual(await first);
  });

  test.each([
    ["broken", "{{{", "recipe.yaml is damaged: "],
    ["other", "name: 1", "is not in this Troupe's format"],
  ])("an invalid recipe, %s", async (name, text, message) => {
    const bad = path.join(root, name);
    await fs.mkdir(bad);
    await fs.writeFile(path.join(bad, "recipe.yaml"), text);
    await expect(openSavedRun(bad)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringContaining(message) as string,
    });
  });
});

test("weights without the environment's words are rejected, with the words and where they were trained", async () => {
  const larger = tinyRecipe({ ...recipes["whole"], environment: { name: "plan-path", size: 5 } });
  await expect(play(larger, await ownWeights("whole"))).rejects.toThrow(
    /tokenizer of whole:scout lacks \d+ of the \d+ words of plan-path: .*a5.* trained on plan-path size=4/,
  );
});
