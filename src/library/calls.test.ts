/** Whatever a function of the package is called with, it fails with a TroupeError. */
import path from "node:path";
import * as fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { TroupeError } from "../errors.ts";
import * as library from "../index.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { invalidCalls, thrownBy } from "../testing.ts";
import { HashEngine } from "../train/testing/hash-engine.ts";
import { tinyRecipe } from "../train/testing/tiny-recipe.ts";
import * as calls from "./calls.ts";

const folder = temporaryFolder();
// Some of the paths are relative.
const before = process.cwd();
process.chdir(folder);
afterAll(() => process.chdir(before));

const engine = new HashEngine({ vocabularySize: 50, endToken: 2 });
const resolved = tinyRecipe();
const { environment } = resolved;
const run = path.join(folder, "run");
const team = {
  roles: { planner: { policy: "own", prompt: "", maxTokens: 4 } },
  phases: [["planner"]],
  turns: 1,
};
const setting = {
  ...library.rolloutDefaults,
  environment,
  team: library.buildTeam(team, environment),
  engine,
  policies: {
    own: { tokenizer: { encode: () => [], decode: () => "", parseReply: () => ({}) }, maxLength: 64 },
  },
  scheme: { branch: { root: 1, inner: 1 }, keep: "all" },
  score: () => 0,
  sampling: { temperature: 1 },
};

/** Valid, but nothing is trained: it is cancelled from the start. */
const valid = {
  resolveRecipe: ["plan-path", ["train.steps=1"], library.builtInCatalog],
  openEngine: [{ type: "local", threads: 1, precision: "float32" }],
  train: [{ ...resolved, directory: run, engine, cancel: AbortSignal.abort(), onEvent: () => undefined }],
  evaluate: [{ directory: run, engine, tasks: 1, samples: 1, passAt: [1], temperature: 1, seed: 1 }],
  readMetrics: [run],
  readEvaluations: [run],
  readResult: [run],
  readEpisodes: [run, { step: 1, from: "training", id: "x" }],
  listRuns: [folder],
  loadTokenizer: [run, { enable_thinking: false }],
  buildTeam: [team, environment],
  growEpisodes: [setting, library.rootKey(1), []],
  algorithmFrom: ["at-grpo", { samples: 2 }],
  openSandbox: [{ backend: "launcher", workers: 1 }],
  openRecordedCalls: [path.join(folder, "calls")],
} satisfies Partial<Record<keyof typeof library, readonly unknown[]>>;

const functions: Readonly<Record<keyof typeof valid, unknown>> = { ...library };

async function call(name: keyof typeof valid, given: readonly unknown[]): Promise<void> {
  const result = (functions[name] as (...all: readonly unknown[]) => unknown)(...given);
  if (name === "readEpisodes") await (result as AsyncGenerator).next();
  const opened = (await result) as { close?: () => Promise<void> } | undefined;
  if (name === "openEngine" || name === "openSandbox") await opened?.close?.();
}

it("fails with a TroupeError", { timeout: 240_000 }, async () => {
  const thrown: unknown[] = [];
  const property = fc.asyncProperty(invalidCalls(valid), async ({ name, given }) => {
    const error = await thrownBy(() => call(name, given));
    if (error !== undefined) thrown.push(error);
    return error === undefined || (error instanceof TroupeError && error.code !== "internal");
  });
  await fc.assert(property, { numRuns: 500 });
  expect(thrown).not.toEqual([]);
});

it("calls every function of calls.ts, but for one that helpers.test.ts calls", () => {
  expect(Object.keys(calls).filter((name) => !(name in valid))).toEqual(["retryingEngine"]);
});

it.each(["readMetrics", "readEvaluations", "readResult", "readEpisodes"] as const)(
  "%s names a folder that is no run",
  async (name) => {
    const missing = await thrownBy(() => call(name, ["typo"]));
    expect(missing).toMatchObject({
      code: "bad_run",
      message: `${path.join(folder, "typo")} does not exist.`,
    });
    expect(await thrownBy(() => call(name, [folder]))).toMatchObject({
      message: `${folder} is not a run's folder: it has no recipe.yaml.`,
    });
  },
);

it("names a misspelled option", async () => {
  const misspelled = { ...resolved, directory: run, engine, cancel: AbortSignal.abort(), onevent: () => {} };
  await expect(library.train(misspelled)).rejects.toMatchObject({
    code: "bad_arguments",
    message: expect.stringContaining("onevent") as string,
  });
});

it("names a default that a recipe lacks", async () => {
  const { evaluation: _, ...recipe } = resolved.recipe;
  const lacking = { ...resolved, recipe: recipe as typeof resolved.recipe, directory: run, engine };
  await expect(library.train(lacking)).rejects.toMatchObject({
    code: "bad_arguments",
    message: "options.recipe.evaluation: missing; pass a recipe of resolveRecipe.",
  });
});
