import { chmodSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { judges } from "../judges/judges.ts";
import { isSameTraining } from "../runs/same-training.ts";
import { rightRecipe, testCatalog } from "./fixtures/catalog.ts";
import { RecipeError } from "./mistakes.ts";
import type { ResolvedRecipe } from "./resolve.ts";
import { resolveRecipe } from "./resolve.ts";
import { recipeWarnings } from "./validation/warnings.ts";
import { recipeToYaml } from "./write.ts";

const folder = realpathSync(temporaryFolder());
beforeAll(() => {
  write("judge.ts", "");
  chmodSync(write("judge.sh", "#!/bin/sh\n"), 0o755);
});

function write(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function resolve(
  judge: string,
  overrides: readonly string[] = [],
  name = "recipe.yaml",
): Promise<ResolvedRecipe> {
  return resolveRecipe(write(name, `${rightRecipe}judge: ${judge}\n`), overrides, testCatalog);
}

async function mistakes(judge: string, overrides: readonly string[] = []): Promise<string[]> {
  try {
    await resolve(judge, overrides);
  } catch (error) {
    if (error instanceof RecipeError)
      return error.mistakes.map(({ key, problem, fix }) => `${key}: ${problem}; ${fix}`);
    throw error;
  }
  return [];
}

const command = "{ name: command, run: [node, judge.ts] }";

describe("a recipe's judge", () => {
  it("gets its defaults, and runs in the folder of the file that names it", async () => {
    const { recipe, judge } = await resolve(command);
    expect(recipe.judge).toEqual({
      name: "command",
      run: ["node", "judge.ts"],
      directory: folder,
      env: [],
      timeoutSeconds: 60,
      concurrency: 2,
      batch: 64,
      attempt: 1,
      fills: "missing",
      as: "team",
      evaluation: false,
    });
    expect(judge).toMatchObject({ fills: "missing", as: "team", evaluation: false });
  });

  it("runs in the folder of the extended recipe, or in one relative to the file that names it", async () => {
    await resolve(command, [], "base.yaml");
    const child = write("deep/child.yaml", "name: child\nextends: ../base.yaml\njudge: { as: local }\n");
    const extended = await resolveRecipe(child, [], testCatalog);
    expect(extended.recipe.judge).toMatchObject({ directory: folder, as: "local" });
    mkdirSync(join(folder, "deep", "tools"));
    write("deep/tools/judge.ts", "");
    const other = write(
      "deep/other.yaml",
      "name: other\nextends: ../base.yaml\njudge: { directory: tools }\n",
    );
    expect((await resolveRecipe(other, [], testCatalog)).recipe.judge).toMatchObject({
      directory: join(folder, "deep", "tools"),
    });
  });

  it("runs in the working directory if an override sets the program", async () => {
    const { recipe } = await resolve(command, ["judge.run=[node]"]);
    expect(recipe.judge).toMatchObject({ run: ["node"], directory: process.cwd() });
  });

  it("is removed by null", async () => {
    const { recipe, judge } = await resolve(command, ["judge=null"]);
    expect(recipe).not.toHaveProperty("judge");
    expect(judge).toBeUndefined();
  });

  it("is written relative to the run's folder, and read back the same", async () => {
    const { recipe } = await resolve(command);
    const run = join(folder, "runs", "one");
    const yaml = recipeToYaml(recipe, run);
    expect(yaml).toContain("directory: ../..\n");
    const again = await resolveRecipe(write("runs/one/recipe.yaml", yaml), [], testCatalog);
    expect(again.recipe).toEqual(recipe);
  });

  it.each([
    ["command", /^judge: expected a mapping with the key name, found "command"/],
    ["{}", /^judge\.name: missing; expected the name of a judge; known: coach, command/],
    ["{ name: comand, run: [node] }", /^judge\.name: there is no judge `comand`; did you mean `?command/],
    ["{ module: ./judge.ts }", /^judge\.module: \.\/judge\.ts: judges are not read from modules; /],
    ["{ name: command }", /^judge\.run: missing/],
    ["{ name: command, run: [] }", /^judge\.run/],
    ["{ name: command, run: [node, judge.ts], fill: all }", /^judge\.fill: .*; did you mean `?fills/],
    ["{ name: command, run: [node, judge.ts], as: both }", /^judge\.as: expected one of team, local/],
    ["{ name: command, run: [node, judge.ts], env: [A=1] }", /^judge\.env\.0: expected the name of an/],
    ["{ name: command, run: [node, judge.ts], timeoutSeconds: 0 }", /^judge\.timeoutSeconds: .* above 0/],
    ["{ name: command, run: [no-such-program] }", /^judge\.run: .*`no-such-program` on PATH; /],
    ["{ name: command, run: [./none.sh] }", /^judge\.run: there is no program `\.\/none\.sh` seen from /],
    ["{ name: command, run: [./judge.ts] }", /^judge\.run: there is no program `\.\/judge\.ts` seen from /],
    ["{ name: command, run: [node, none.ts] }", /^judge\.run: there is no file none\.ts in /],
    ["{ name: coach, provider: google, model: m, truth: { nobody: visible } }", /^judge\.truth: .*nobody; /],
    ["{ name: coach, provider: google, model: m, budget: { dollars: 1 } }", /^judge\.price: the price of m /],
    ["{ name: command, run: [node], directory: none }", /^judge\.directory: .*none is not a folder; /],
  ])("is rejected: %s", async (judge, expected) => {
    expect(await mistakes(judge)).toEqual([expect.stringMatching(expected)]);
  });

  it.each(["[./judge.sh]", "[node, -e, judge.ts]", "[env, node, none.ts]"])("may be %s", async (run) => {
    expect(await mistakes(`{ name: command, run: ${run} }`)).toEqual([]);
  });

  it("is not looked for without reinforcement", async () => {
    expect(await mistakes("{ name: command, run: [no-such-program] }", ["train.steps=0"])).toEqual([]);
  });
});

const judging = (options: string) => `{ name: command, run: [node, judge.ts], ${options} }`;

describe("when a judge is asked", () => {
  const reinforce = ["algorithm=null", "algorithm={name: reinforce, reward: action}"];

  it.each([
    ["when: episode", [], /^judge\.when: at-grpo chooses .* before the episode ends; /],
    ["when: episode, comments: true", reinforce, /^judge\.comments: comments are for roles that act later, /],
    ["outcomeWeight: 0.5", [], /^judge\.outcomeWeight: at-grpo continues from one of /],
    ["outcomeWeight: 0.5", ["algorithm.keep=first"], /^judge\.outcomeWeight: at-grpo continues from one/],
    ["outcomeWeight: 1.5", reinforce, /^judge\.outcomeWeight: expected a number from 0 to 1, found 1\.5/],
    ["normalise: task type", reinforce, /^judge\.normalise: .* one type; use `normalise: role`/],
    ["normalise: roles", reinforce, /^judge\.normalise: expected one of role, task type, both/],
  ])("is rejected before training: %s %j", async (options, overrides, expected) => {
    expect(await mistakes(judging(options), overrides)).toEqual([expect.stringMatching(expected)]);
  });

  it.each([
    ["when: episode", reinforce],
    ["when: action, comments: true, outcomeWeight: 0.5, normalise: role", reinforce],
    ["when: action, comments: true, normalise: role", []],
    ["when: episode", ["algorithm.keep=random"]],
  ])("is accepted: %s %j", async (options, overrides) => {
    expect(await mistakes(judging(options), overrides)).toEqual([]);
  });
});

describe("a run with a judge", () => {
  it("may be resumed with the program elsewhere or a longer timeout, not with other verdicts", async () => {
    const yaml = async (...overrides: string[]) =>
      recipeToYaml((await resolve(command, overrides)).recipe, folder);
    const first = await yaml();
    write("elsewhere/judge.ts", "");
    const elsewhere = `judge.directory=${join(folder, "elsewhere")}`;
    const more = ["judge.timeoutSeconds=5", "judge.concurrency=9", "judge.batch=3", "judge.env=[KEY]"];
    const incidental = new Set(judges["command"]?.incidental);
    const isSame = (other: string) => isSameTraining(first, other, incidental);
    expect(isSame(await yaml(elsewhere, ...more))).toBe(true);
    expect(isSame(await yaml("judge.as=local"))).toBe(false);
    expect(isSame(await yaml("judge.attempt=2"))).toBe(false);
    expect(isSame(await yaml("judge=null"))).toBe(false);
  });
});

/** @param judged the seats whose actions may have no reward */
async function warned(judge: string, judged: readonly string[], ...overrides: string[]): Promise<string[]> {
  const resolved = await resolve(judge, overrides);
  const seats = Object.entries(resolved.environment.seats).map(([name, seat]) => [
    name,
    judged.includes(name) ? { ...seat, judged: true as const } : seat,
  ]);
  const environment = { ...resolved.environment, seats: Object.fromEntries(seats) };
  return recipeWarnings({ ...resolved, environment }).map(({ key, problem }) => `${key}: ${problem}`);
}

describe("warnings", () => {
  const unjudged = "judge: grid leaves actions of walker without a reward, and such actions train nothing";
  const idle = /^judge\.fills: grid says of no seat here that it leaves actions without a reward/;
  const grpo = ["algorithm=null", "algorithm={name: grpo}"];

  it("report that nothing rewards a seat", async () => {
    expect(await warned("null", ["walker"])).toEqual([unjudged]);
    expect(await warned("null", ["walker"], "team.roles.walker.frozen=true")).toEqual([]);
    expect(await warned("null", ["walker"], ...grpo)).toEqual([]);
    expect(await warned("null", [])).toEqual([]);
    expect(await warned(command, ["walker"])).toEqual([]);
  });

  it("report that a judge may never be asked, or has no effect", async () => {
    expect(await warned(command, [])).toEqual([expect.stringMatching(idle)]);
    expect(await warned(command, [], "judge.fills=all")).toEqual([]);
    expect(await warned(command, ["walker"], ...grpo)).toEqual([
      "judge: grpo learns from the episode's score alone, so verdicts train nothing",
    ]);
    expect(await warned(command, ["walker"], ...grpo, "algorithm.reward=rewards")).toEqual([
      expect.stringMatching(/^algorithm\.reward: `rewards` sums over 3 turns the rewards of grid for/),
    ]);
    const all = [...grpo, "algorithm.reward=rewards", "judge.fills=all"];
    expect(await warned(command, ["walker"], ...all)).toEqual([
      expect.stringMatching(/^algorithm\.reward: `rewards` sums over 3 turns the rewards of the judge for/),
    ]);
  });

  it.each([
    ["grpo", "set `algorithm.reward` to rewards, or remove it"],
    ["rloo", "set `algorithm.reward` to rewards, or remove it"],
    ["magrpo", "set `algorithm.reward` to action, or remove it"],
    ["reinforce", "set `algorithm.reward` to action, or remove it"],
  ])("say how %s learns from a judge", async (name, fix) => {
    const resolved = await resolve(judging("fills: all"), [
      "algorithm=null",
      `algorithm={name: ${name}, samples: 2}`,
    ]);
    expect(recipeWarnings(resolved).filter(({ key }) => key === "judge")).toMatchObject([{ fix }]);
  });
});
