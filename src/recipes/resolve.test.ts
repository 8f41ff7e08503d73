import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../models/test-model.ts";
import { engineKinds } from "../engines/open.ts";
import { TroupeError } from "../errors.ts";
import { rightRecipe, testCatalog } from "./fixtures/catalog.ts";
import { RecipeError } from "./mistakes.ts";
import type { ResolvedRecipe } from "./resolve.ts";
import { resolveRecipe } from "./resolve.ts";
import { annotatedYaml, recipeToYaml } from "./write.ts";

const folder = temporaryFolder();
beforeAll(() => {
  write("right.yaml", rightRecipe);
});

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function resolve(overrides: readonly string[] = [], name = "right.yaml"): Promise<ResolvedRecipe> {
  return resolveRecipe(join(folder, name), overrides, testCatalog);
}

async function rejection(overrides: readonly string[] = [], name = "right.yaml"): Promise<RecipeError> {
  try {
    await resolve(overrides, name);
  } catch (error) {
    if (error instanceof RecipeError) return error;
    throw error;
  }
  throw new Error("the recipe was not rejected");
}

const said = async (...given: Parameters<typeof rejection>) => (await rejection(...given)).message;

describe("a right recipe", () => {
  it("gets the defaults of the schema, the environment and the algorithm", async () => {
    const { recipe } = await resolve();
    expect(recipe.environment).toEqual({ name: "grid", size: 6, walls: 0.22 });
    expect(recipe.algorithm).toMatchObject({ name: "at-grpo", samples: 8, keep: "best" });
    expect(recipe.train.clipNorm).toBe(1);
    expect(recipe.evaluation.tasks).toBe(500);
  });

  it("takes overrides in order, scalars and collections", async () => {
    const { recipe } = await resolve(["train.steps=7", "team.phases=[[walker], [scout]]", "train.steps=9"]);
    expect(recipe.train.steps).toBe(9);
    expect(recipe.team.phases).toEqual([["walker"], ["scout"]]);
  });

  it("merges a mapping into a mapping and reaches into lists", async () => {
    const { recipe } = await resolve([
      "train={steps: 2, topK: 5}",
      "team.phases.0.0=walker",
      "team.phases.1.0=scout",
    ]);
    expect(recipe.train).toMatchObject({ steps: 2, topK: 5, tasksPerStep: 8 });
    expect(recipe.team.phases).toEqual([["walker"], ["scout"]]);
  });

  it("removes a key with null", async () => {
    const { recipe } = await resolve(["warmStart=null", "environment.size=null"]);
    expect(recipe.warmStart).toBeUndefined();
    expect(recipe.environment).toMatchObject({ size: 10 });
  });

  it("removes what only a lower layer has: a role, an unknown key", async () => {
    write("lower.yaml", `${rightRecipe}extra: 3\n`);
    write("upper.yaml", "extends: lower.yaml\nextra: null\nwarmStart: null\n");
    expect(
      (await resolve(["extra=null", "team.turns=null", "team.turns=2"], "upper.yaml")).recipe.team.turns,
    ).toBe(2);
    const alone = await resolve(["team.roles.scout=null", "team.phases=[[walker]]", "team.roles.scout=null"]);
    expect(Object.keys(alone.recipe.team.roles)).toEqual(["walker"]);
  });

  it("knows the origin of each value", async () => {
    const { originOf } = await resolve(["train.steps=7"]);
    expect(originOf(["environment", "size"])).toBe(`${join(folder, "right.yaml")}:4:9`);
    expect(originOf(["train", "steps"])).toBe("override `train.steps=7`");
    expect(originOf(["train", "topK"])).toBe("default");
  });

  it("is the same after being written and read again", async () => {
    const { recipe, originOf } = await resolve([
      "team.roles.scout.prompt='a: #b\n\n c'",
      "train.schedule=cosine",
    ]);
    write("again.yaml", recipeToYaml(recipe, folder));
    expect((await resolve([], "again.yaml")).recipe).toEqual(recipe);
    expect(parse(annotatedYaml(recipe, originOf))).toEqual(parse(recipeToYaml(recipe, folder)));
    expect(annotatedYaml(recipe, originOf)).toContain("schedule: cosine # override `train.schedule=cosine`");
  });
});

describe("extends", () => {
  it("merges the file over what it extends, and a mistake points to its file", async () => {
    write("child.yaml", "extends: right.yaml\nname: child\ntrain:\n  steps: 2\n  topP: 7\n");
    const error = await rejection(["train.topP=0.5", "train.steps=-1"], "child.yaml");
    expect(error.message).toContain("override `train.steps=-1`: train.steps");
    expect((await resolve(["train.topP=0.5"], "child.yaml")).recipe).toMatchObject({
      name: "child",
      train: { steps: 2, topP: 0.5, tasksPerStep: 8 },
    });
    expect(await said([], "child.yaml")).toContain("child.yaml:5:9: train.topP");
    write("grandchild.yaml", "extends: child.yaml\nname: grandchild\n");
    expect(await said([], "grandchild.yaml")).toContain("child.yaml:5:9: train.topP");
  });

  it("reports cycles and missing files where they are named", async () => {
    write("a.yaml", "extends: b.yaml\n");
    write("b.yaml", "name: b\nextends: a.yaml\n");
    expect(await said([], "a.yaml")).toMatch(
      /b\.yaml:2:10: extends: circular `extends`: .*a\.yaml → .*b\.yaml → .*a\.yaml/,
    );
    write("c.yaml", "extends: nothing.yaml\n");
    expect(await said([], "c.yaml")).toMatch(/c\.yaml:1:10: cannot read .*nothing\.yaml: ENOENT/);
  });

  it.skipIf(process.platform === "win32")("waits for no pipe, and reads no device or model", async () => {
    execFileSync("mkfifo", [join(folder, "pipe.yaml")]);
    write("vast.yaml", "");
    truncateSync(join(folder, "vast.yaml"), 2 ** 33);
    for (const [file, why] of [
      ["pipe.yaml", "it is a pipe or a device"],
      ["/dev/zero", "it is a pipe or a device"],
      ["vast.yaml", "it has 8589934592 bytes"],
    ] as const) {
      write("extending.yaml", `extends: ${join(folder, file).replace(/.*\/dev/, "/dev")}\n`);
      expect(await said([], "extending.yaml")).toContain(why);
    }
    expect(await said([], "pipe.yaml")).toContain("it is a pipe");
  });

  it("follows no endless chain", async () => {
    for (let index = 0; index < 80; index++) write(`chain${index}.yaml`, `extends: chain${index + 1}.yaml\n`);
    expect(await said([], "chain0.yaml")).toContain("more than 64 recipes extend each other");
  });

  it("accepts the name of an included recipe, unless such a file exists", async () => {
    write("named.yaml", "extends: plan-path\nname: named\nenvironment: { size: 5 }\n");
    const { recipe } = await resolveRecipe(join(folder, "named.yaml"));
    expect(recipe).toMatchObject({ name: "named", environment: { name: "plan-path", size: 5 } });
    write("plan-path", rightRecipe);
    expect((await resolve([], "named.yaml")).recipe.environment).toMatchObject({ name: "grid", size: 5 });
    rmSync(join(folder, "plan-path"));
  });

  it("accepts it without its folder if the rest is unique, and suggests the nearest", async () => {
    write("short.yaml", "extends: thin-ice-single\nname: short\n");
    const { recipe } = await resolveRecipe(join(folder, "short.yaml"));
    expect(recipe.environment.name).toBe("thin-ice");
    write("shorter.yaml", "extends: maremax\nname: shorter\n");
    expect((await resolveRecipe(join(folder, "shorter.yaml"))).recipe.algorithm.name).toBe("maremax");
    write("several.yaml", "extends: magrpo\nname: several\n");
    expect(await said([], "several.yaml")).toMatch(
      /several\.yaml:1:10: extends: there is no recipe magrpo; there are algorithms\/magrpo,/,
    );
    write("wrong-name.yaml", "extends: plan-paht\nname: wrong\n");
    expect(await said([], "wrong-name.yaml")).toContain("did you mean `plan-path`?");
  });

  it("inherits everything except measurements", async () => {
    write("measured.yaml", "extends: right.yaml\nname: measured\nexpected: { minutes: 3, success: 0.5 }\n");
    write("unmeasured.yaml", "extends: measured.yaml\nname: unmeasured\nexpected: { minutes: 4 }\n");
    expect((await resolve([], "measured.yaml")).recipe.expected).toEqual({ minutes: 3, success: 0.5 });
    expect((await resolve([], "unmeasured.yaml")).recipe.expected).toEqual({ minutes: 4 });
  });
});

describe("default phases", () => {
  const without = rightRecipe.replace("  phases: [[scout], [walker]]\n", "");
  const alone = "evaluation.compare.alone={roles: {walker: {policy: shared}}, turns: 1}";

  it("are one role after the other, in the order of roles, of every team", async () => {
    write("without.yaml", without);
    const { recipe } = await resolve([alone], "without.yaml");
    expect(recipe.team.phases).toEqual([["scout"], ["walker"]]);
    expect(recipe.evaluation.compare["alone"]?.phases).toEqual([["walker"]]);
  });

  it("are none if the environment decides who acts, also when the recipe is read again", async () => {
    write("dialogue.yaml", without.replace("name: grid\n  size: 6", "name: dialogue"));
    const { recipe } = await resolve([alone], "dialogue.yaml");
    expect([recipe.team.phases, recipe.evaluation.compare["alone"]?.phases]).toEqual([[], []]);
    write("again.yaml", recipeToYaml(recipe, folder));
    expect((await resolve([], "again.yaml")).recipe).toEqual(recipe);
  });

  it("are rejected there, and so are two roles in one seat", async () => {
    const given = "team.phases=[[scout], [walker]]";
    expect(await said([given], "dialogue.yaml")).toContain(
      `override \`${given}\`: team.phases: dialogue decides itself`,
    );
    const both = "team.roles.walker.seat=scout";
    expect(await said([both], "dialogue.yaml")).toContain(
      "team.roles.walker: `scout` and `walker` have the seat `scout`",
    );
  });

  it("do not prevent algorithms that need them there", async () => {
    const cross = [
      "algorithm={name: magrpo, joint: cross, samples: 2}",
      "team.turns=1",
      "train.minibatches=2",
    ];
    expect((await resolve(cross, "dialogue.yaml")).algorithm.name).toBe("magrpo");
    write("without.yaml", without);
    expect(await said(cross, "without.yaml")).toContain("no phase has two roles");
  });
});

describe("mistakes in values", () => {
  const file = rightRecipe.replace("  steps: 5", "  setps: 5").replace("turns: 3", "turns: three");

  it("are all reported at once, with line and column, in one message", async () => {
    write("wrong.yaml", file.replace("size: 6", "size: 1\n  colour: red"));
    const { message, mistakes, code } = await rejection([], "wrong.yaml");
    expect(code).toBe("bad_recipe");
    expect(mistakes).toHaveLength(4);
    expect(message).toContain(
      "wrong.yaml:4:9: environment.size: expected a whole number from 2 to 50, found 1",
    );
    expect(message).toContain(
      "wrong.yaml:5:3: environment.colour: unknown key; keys of `environment`: name, size, walls",
    );
    expect(message).toContain(
      'wrong.yaml:11:10: team.turns: expected a whole number from 1 to 4096, found "three"',
    );
    expect(message).toContain(
      "wrong.yaml:21:3: train.setps: unknown key; did you mean `steps`? Keys of `train`: steps,",
    );
    // A misspelt key is one mistake, and not also a missing key.
    expect(message).not.toContain("missing");
  });

  it("in an inherited key say how to remove it", async () => {
    write("lower.yaml", `${rightRecipe}extra: 3\n`);
    write("upper.yaml", "extends: lower.yaml\nname: upper\n");
    expect(await said([], "upper.yaml")).toContain(
      "extra: inherited, but unknown here; remove it with `extra=null`",
    );
  });

  const cases: readonly (readonly [string, string])[] = [
    ["train.steps=1_000", 'found "1_000"; write 1000 without quotes or separators'],
    ["seed=None", "write null for the default"],
    [
      "algorithm=grpo",
      'mapping with the keys name, module, export, moduleHash, found "grpo"; write { name: grpo }',
    ],
    [
      "team.roles.scout.tools=[pyton]",
      'name is one of python, search, mcp, found "pyton"; did you mean python?',
    ],
    ["team.roles.scout.tools=[{name: serch}]", "tools.0.name: expected one of python, search, mcp"],
    ["team.roles.scout.tools=[{name: mcp}]", "tools.0.command: missing; expected a list"],
    ["team.roles.scout.tools=[{name: search, indx: x}]", "tools.0.indx: unknown key; did you mean `index`?"],
    ["team.roles.scout.tools=[search]", 'found "search"; write { name: search, … }'],
    ["train=\u001b[31m: {", "not valid YAML"],
    ["team.roles.scout.frozen=yes", 'expected true or false, found "yes"; write true'],
    ["train.schedule=cosin", 'one of constant, linear, cosine, found "cosin"; did you mean cosine?'],
    ["policies.shared.model=3", "the key preset or a mapping with the key path, found 3"],
    [
      "policies.shared.model={preset: nano, path: x}",
      "remove one, as with policies.shared.model.preset=null",
    ],
    ["evaluation.temperature={}", "expected a number, at least 0, found a mapping"],
    ["engine.type=tinker", "engine.url: missing; expected text"],
    ["engine.device=cuda", "engine.device: is a setting of `type: torch`; add engine.type=torch"],
    ["engine.type=tinkr", 'engine.type: expected one of local, torch, tinker, found "tinkr"'],
    ["policies.shared.model={preset: null, path: 3}", "policies.shared.model.path: expected text, found 3"],
    ["team.roles.2nd={policy: shared}", "`2nd` is not a name: letters from A to Z, digits, dashes"],
    ["team.roles.jürgen={policy: shared}", "`jürgen` is not a name: letters from A to Z, digits, dashes"],
    ["team.phases=[[]]", "team.phases.0: expected a list of at least 1, each item text, found an empty list"],
    ["engine={type: tinker, url: localhost:8, profile: troupe}", "engine.url: expected http(s)://HOST:PORT"],
    ["engine={type: local, url: 'http://one:8000'}", "of `type: local`; remove it with engine.url=null"],
    ["engine.threads=100000", "engine.threads: expected a whole number from 0 to 256, found 100000"],
    ["train.learningRate=.nan", "expected a number from 1e-30 to 1, found NaN"],
    ["train.learningRate=1e300", "train.learningRate: expected a number from 1e-30 to 1, found 1e+300"],
    ["train.beta2=0.99999999999", "train.beta2: expected a number from 0 to 0.99999, found 0.99999999999"],
    ["train.clipNorm=1e-300", "train.clipNorm: expected 0 or a number of at least 1e-30"],
    ["train.epsilon=1e-300", "train.epsilon: expected a number from 1e-30 to 1, found 1e-300"],
    ["train.tasksPerStep=1e9", "expected a whole number from 1 to 1000000, found 1000000000"],
    ["train.tokensPerStep=1e15", "expected a whole number from 1 to 1000000000, found 1000000000000000"],
    ["evaluation.tasks=1e9", "expected a whole number from 1 to 1000000, found 1000000000"],
    ["policies.shared.adapter={rank: 1e9}", "adapter.rank: expected a whole number from 1 to 4096"],
    ["environment.name=gird", "`gird`; did you mean `grid`? Known: grid, puzzle, dialogue"],
    ["algorithm.name=ATGRPO", "did you mean `at-grpo`?"],
    [
      "algorithm.samples=1",
      "algorithm.samples: expected a whole number, at least 2, found 1; a group of one",
    ],
    ["algorithm={nmae: grpo}", "algorithm.nmae: unknown key; did you mean `name`? Keys of"],
    ["train.tokensPerStep=10", "train.tokensPerStep: 10 tokens are always reached"],
    ["watch.limits.entropy={action: warn}", "watch.limits.entropy: needs a limit: below or above"],
    ["algorithm.sample=3", "algorithm.sample: unknown key; did you mean `samples`?"],
    ["constructor.name=3", "constructor: unknown key"],
    ["__proto__.seed=3", "__proto__: unknown key"],
    ["environment.name=toString", "there is no environment `toString`"],
    ["extends=other.yaml", "extends: unknown key"],
  ];
  it.each(cases)("%s", async (override, expected) => {
    expect(await said([override])).toContain(expected);
  });

  it("a limit of `watch` under a wrong key is one mistake", async () => {
    const { mistakes } = await rejection(["watch.limits.kl={below: 1}"]);
    expect(mistakes.map(({ key, problem }) => `${key}: ${problem}`)).toEqual([
      "watch.limits.kl.below: unknown key",
    ]);
  });

  it("are shown for invalid YAML", async () => {
    write("broken.yaml", "name: broken\nteam: [1, 2\ntrain: {steps: 1}\n");
    expect(await said([], "broken.yaml")).toMatch(/broken\.yaml:3:\d+: not valid YAML/);
    write("twice.yaml", "name: twice\nseed: 1\nseed: 2\n");
    expect(await said([], "twice.yaml")).toContain("twice.yaml:3:1: not valid YAML: Map keys");
    write("list.yaml", "- name: list\n");
    expect(await said([], "list.yaml")).toContain("list.yaml:1:1: a recipe is a mapping");
    write("empty.yaml", "");
    expect(await said([], "empty.yaml")).toContain("found nothing");
    const tenfold = ["b", "c", "d", "e", "f"].map(
      (key, i) => `${key}: &${key} [${`*${"abcde"[i]},`.repeat(10)}]`,
    );
    write("bomb.yaml", `a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n${tenfold.join("\n")}\n`);
    expect(await said([], "bomb.yaml")).toContain("too large or too deep");
    write("long.yaml", Array.from({ length: 15_000 }, (_, index) => `key${index}: 1`).join("\n"));
    expect(await said([], "long.yaml")).toContain("too large or too deep");
    write("nested.yaml", `seed: ${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    expect(await said([], "nested.yaml")).toMatch(/nested\.yaml:1:\d+: too large or too deep/);
    write("prototype.yaml", "extends: right.yaml\npolicies: { __proto__: { model: { preset: nano } } }\n");
    expect(await said([], "prototype.yaml")).toContain("prototype.yaml:2:13: `__proto__` is");
    const deep = `${"a.".repeat(20_000)}b=1`;
    expect(await said([deep])).toContain("the key has too many parts for a recipe");
  });
});

describe("overrides of another grammar", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["+train.steps=3", "`+train.steps` is not a key; write train.steps=3"],
    ["~warmStart", "write ~warmStart=…"],
    ["~warmStart=", "write warmStart=null to remove a key"],
    ["--train.steps=3", "write train.steps=3"],
    ["train.steps:3", "found no `=`; write train.steps=3"],
    ["train.steps", "write train.steps=…, without spaces around `=`"],
    ["train..steps=3", "`train..steps` is not a key"],
    ["team.roles.scout.prompt=", "write team.roles.scout.prompt='\"\"' for an empty string"],
    ["recipe.yaml", "name the recipe first"],
    ["team.phases=[[scout]", "not valid YAML"],
    ["team.phases.7=[scout]", "`7` is not an item of the list team.phases, which has 2"],
  ];
  it.each(cases)("%s", async (override, expected) => {
    expect(await said([override])).toContain(expected);
  });
});

describe("a null that removes nothing", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      "policies.shared.model={path:/x, preset: null}",
      "a space after the colon: `path: /x`. Keys of `policies",
    ],
    ["train.stepz=null", "train.stepz: unknown key; did you mean `steps`?"],
    ["warmstart=null", "warmstart: unknown key; did you mean `warmStart`?"],
    ["environment.siez=null", "environment.siez: unknown key; did you mean `size`?"],
    ["algorithm={samples:4}", "algorithm.samples:4: unknown key; write a space after the colon"],
    ["team.roles.scuot=null", "team.roles.scuot: unknown key; did you mean `scout`?"],
  ];
  it.each(cases)("%s", async (override, expected) => {
    const error = await rejection([override]);
    expect(error.mistakes).toHaveLength(1);
    expect(error.message).toContain(expected);
  });

  it("is accepted under a known key, and under options of an unknown environment", async () => {
    const known = ["environment.walls=null", "algorithm.keep=null", "team.roles.scout.prompt=null"];
    expect((await resolve([...known, "train.topK=null", "evaluation.compare=null"])).recipe.train.topK).toBe(
      0,
    );
    const error = await rejection(["environment={name: gird, hue: null}"]);
    expect(error.mistakes.map(({ key }) => key)).toEqual(["environment.name"]);
  });
});

const oneSample = (row: string, more = "") => `algorithm={name: ${row}, samples: 1${more}}`;

/** GRPO with KL to a policy. */
const klTo = (to: string): string => `algorithm={name: grpo, kl: {where: loss, to: ${to}}}`;

describe("impossible combinations", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["team.phases=[[scout], [wlker]]", "team.phases.1.0: there is no role `wlker`; did you mean `walker`?"],
    ["policies.spare={model: {preset: tiny}}", "policies.spare: no role uses this policy"],
    ["policies.shared.model.preset=tny", "no preset `tny`; did you mean `tiny`? Presets: tiny, small"],
    ["policies.shared.model={preset: null, path: nowhere}", "nowhere does not exist"],
    ["policies.shared.model={preset: null, path: .}", "no config.json in ."],
    ["policies.shared.model={preset: null, path: tests/fixtures/models}", "it contains the model tests"],
    ["policies.shared.model={preset: null, path: tests/fixtures/models/lora}", "tied; give a model"],
    [
      "policies.shared={model: {preset: null, path: tests/fixtures/models/lora}, adapter: {rank: 4}}",
      "r is 3; expected 4, the policy's rank",
    ],
    ["policies.shared.model={preset: null, path: tests/fixtures/models/critic-lora}", "modules_to_save is"],
    ["policies.shared.model={preset: null, path: tests/fixtures/models/qwen3}", "no tokenizer.json in tests"],
    ["algorithm={name: lonely}", "every advantage would be 0; sample at least 2 actions per group"],
    ["environment={name: puzzle}", "puzzle has no demonstrations; remove warmStart"],
    ["evaluation.split=heldout", "evaluation.split: grid has no split `heldout`; did you mean `heldOut`?"],
    ["train.minibatches=9", "9 minibatches need at least as many tasks; train.tasksPerStep is 8"],
    ["team.roles.scot.frozen=true", "policy: missing; expected text; or did you mean `scout` by `scot`?"],
    ["warmStart.warmupSteps=10", "a warm-up of 10 steps does not fit into 10 steps"],
    ["team.roles={scout: {frozen: true}, walker: {frozen: true}}", "every role is frozen"],
    ["evaluation.compare.team={roles: {scout: {policy: shared}}, turns: 1}", "the name `team` is reserved"],
    [
      "evaluation.compare.alone={roles: {me: {policy: shared}}, turns: 1}",
      "alone.roles.me.seat: grid has no",
    ],
  ];
  it.each(cases)("%s", async (override, expected) => {
    expect(await said([override])).toContain(expected);
  });

  it("a step of one action if actions are compared with the whole step", async () => {
    const alone = ["team={roles: {walker: {policy: shared}, scout: null}, phases: [[walker]], turns: 1}"];
    const one = [...alone, "train={tasksPerStep: 1, minibatches: 1}"];
    expect(await said([...one, oneSample("reinforce", ", baseline: batch")])).toContain(
      "train.tasksPerStep: reinforce compares the actions of a policy's step",
    );
    expect(await said([...one, oneSample("iac")])).toContain("iac compares the actions");
    expect((await resolve([...one, oneSample("reinforce")])).algorithm.name).toBe("reinforce");
    expect((await resolve([...one, oneSample("iac"), "team.turns=2"])).algorithm.name).toBe("iac");
  });

  it("options without effect, unless there is no reinforcement", async () => {
    const idle = ["algorithm.refills=5", "algorithm.clipHigh=0.3", "train={minibatches: 1, epochs: 1}"];
    const { message } = await rejection(idle);
    expect(message).toContain("override `algorithm.refills=5`: algorithm.refills: only dynamic sampling");
    expect(message).toContain(
      "override `algorithm.clipHigh=0.3`: algorithm.clipHigh: it limits the distance",
    );
    expect((await resolve([...idle, "train.steps=0"])).recipe.train.steps).toBe(0);
  });

  it("models that an algorithm creates itself", async () => {
    const mine = ["policies.critic={model: {preset: tiny}}", "team.roles.scout.policy=critic"];
    expect((await resolve(mine)).recipe.policies["critic"]).toBeDefined();
    expect(await said([...mine, "algorithm={name: maac}"])).toContain(
      "policies.critic: maac has a model of its own",
    );
    // That of a role is called `critic-scout`.
    expect((await resolve([...mine, "algorithm={name: ppo}"])).algorithm.name).toBe("ppo");
    const own = ["policies.critic-scout={model: {preset: tiny}}", "team.roles.scout.policy=critic-scout"];
    expect(await said([...own, "algorithm={name: ppo}"])).toContain(
      "policies.critic-scout: ppo has a model of its own",
    );
  });

  it("a central critic of models with different tokenizers", async () => {
    mkdirSync(join(folder, "model"));
    for (const name of ["config.json", "tokenizer.json"]) writeFileSync(join(folder, "model", name), "{}");
    const other = `policies.other={model: {path: ${join(folder, "model")}}}`;
    const mixed = [other, "team.roles.scout.policy=other"];
    expect((await resolve([...mixed, "algorithm={name: iac}"])).recipe.algorithm.name).toBe("iac");
    expect(await said([...mixed, "algorithm={name: maac}"])).toContain(
      "different tokenizers; use models with the same",
    );
    expect(
      resolve([...mixed, "team.roles.walker.policy=other", "policies.shared=null", "algorithm={name: maac}"]),
    ).toBeDefined();
  });

  it("KL to a policy that there is not, that reads other tokens, or that never differs", async () => {
    mkdirSync(join(folder, "reader"));
    for (const name of ["config.json", "tokenizer.json"]) writeFileSync(join(folder, "reader", name), "{}");
    const other = `policies.other={model: {path: ${join(folder, "reader")}}}`;
    expect(await said([klTo("shard")])).toContain(
      "algorithm.kl.to: there is no policy `shard`; did you mean `shared`",
    );
    expect(await said([other, klTo("other")])).toContain("other cannot read the tokens of shared");
    expect(await said([klTo("shared")])).toContain("shared is the only policy that learns");
    expect((await resolve([klTo("shared"), "train.epochs=2"])).algorithm.kl?.to).toBe("shared");
    expect(await said(["algorithm={name: grpo, kl: {to: shared}}"])).toContain(
      "kl.to: it has no effect: KL is not",
    );
    const teacher = "policies.teacher={model: {preset: tiny}}";
    expect((await resolve([teacher, klTo("teacher")])).recipe.policies["teacher"]).toBeDefined();
    expect(await said([teacher])).toContain("policies.teacher: no role uses this policy");
  });

  it("an entropy that a hosted server cannot compute", async () => {
    const hosted = "engine={type: tinker, url: 'http://localhost:1', profile: hosted}";
    const adapter = "policies.shared.adapter={alpha: 32}";
    const overrides = [hosted, adapter, "algorithm={name: grpo, entropy: 0.1}"];
    const catalog = { ...testCatalog, engines: engineKinds };
    await expect(resolveRecipe(join(folder, "right.yaml"), overrides, catalog)).rejects.toThrow(
      "algorithm.entropy: the engine `tinker` with the profile `hosted` does not support an entropy bonus",
    );
  });

  it("a team that is only evaluated needs nothing to train", async () => {
    const frozen = "team.roles={scout: {frozen: true}, walker: {frozen: true}}";
    expect(await said([frozen])).toContain("evaluate the team with `train.steps: 0`");
    const { recipe } = await resolve([frozen, "train.steps=0", "warmStart=null", "algorithm={name: lonely}"]);
    expect(recipe.train.steps).toBe(0);
  });

  it("an engine that lacks a capability", async () => {
    const weak = { wholeModel: false, adapters: true, losses: ["cross_entropy" as const], topK: false };
    const plain = { critic: false, klInLoss: false, sequenceRatio: false, dualClip: false };
    const local = { ...weak, ...plain, stopStrings: false, entropy: false, gradientNorm: false };
    const ask = (): Promise<ResolvedRecipe> =>
      resolveRecipe(join(folder, "right.yaml"), ["train.topK=5", "team.roles.scout.stop=[x]"], {
        ...testCatalog,
        engines: { local: { ...engineKinds.local, capabilities: () => local } },
      });
    await expect(ask()).rejects.toThrow(/has no loss `ppo`; it has cross_entropy/);
    await expect(ask()).rejects.toThrow(/train\.topK: the engine `local` does not support top-k sampling/);
    await expect(ask()).rejects.toThrow(
      /policies\.shared: the engine `local` does not support training whole models; give the policy an `adapter`/,
    );
    await expect(ask()).rejects.toThrow(/team\.roles\.scout\.stop: .* does not support stopping at a string/);
  });
});

const isValid = (one: ResolvedRecipe) => typeof one.recipe.team.turns === "number";

describe("any override", () => {
  const keys = "train steps team roles scout phases 0 policies shared model path".split(" ");
  const part = fc.oneof(fc.constantFrom(...keys, "__proto__", "extends", "environment", "name"), fc.string());
  const value = fc.oneof(
    fc.json(),
    fc.string(),
    fc.constantFrom("&a [*a]", "!!binary x", "? a", "{a: {<<: 3}}", "*x"),
  );

  it("gives a valid recipe or a TroupeError, never anything else", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 5 }), value, async (path, text) => {
        const outcome = await resolve([`${path.join(".")}=${text}`]).catch((error: unknown) => error);
        expect(outcome instanceof TroupeError || isValid(outcome as ResolvedRecipe)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
