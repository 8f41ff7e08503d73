import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { rightRecipe } from "../fixtures/catalog.ts";
import { RecipeError } from "../mistakes.ts";
import { resolveRecipe } from "../resolve.ts";
import type { Recipe } from "../schema.ts";
import { recipeToYaml, changedModules } from "../write.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "troupe-modüle and more-")));
afterAll(() => rmSync(root, { recursive: true }));

/** One folder per test: Node imports a file only once. */
let folder = root;
let count = 0;
beforeEach(() => {
  folder = join(root, `test #${count++}`);
  mkdirSync(folder);
});

function write(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const environment = `{
  name: "coins",
  seats: {
    scout: { purpose: "looks", prompt: "", maxTokens: 4 },
    walker: { purpose: "walks", prompt: "", maxTokens: 4 },
  },
  tasks: { train: { size: 1, at: () => 0 }, heldOut: { size: 1, at: () => 1 } },
  start: (task) => task,
  observe: String,
  step: (state) => ({ state, rewards: {}, done: true }),
  outcome: () => ({ success: true, score: 1 }),
  render: String,
  oracle: { words: ["0", "1"] },
}`;
const definition = `{ name: "coins", summary: "", options: { parse: (given) => given }, create: () => (${environment}) }`;
const coins = `export default ${definition};`;

/** A recipe with your own environment or algorithm. */
function recipe(more: string): string {
  return rightRecipe.replace("  name: grid\n  size: 6", `  ${more}`).replace(/warmStart:[^]*(?=train:)/, "");
}

async function resolve(text: string, overrides: readonly string[] = [], name = "recipe.yaml") {
  return resolveRecipe(write(name, text), overrides);
}

async function rejection(text: string, overrides: readonly string[] = []): Promise<string> {
  try {
    await resolve(text, overrides);
  } catch (error) {
    if (error instanceof RecipeError) return error.message.replaceAll(`${folder}/`, "");
    throw error;
  }
  throw new Error("the recipe was not rejected");
}

describe("an environment in a module", () => {
  it("is found next to the file that names it, and created with its options", async () => {
    write("coins.ts", coins.replace("(given) => given", '(given) => ({ side: "heads", ...given })'));
    const found = await resolve(recipe("module: ./coins.ts\n  count: 3"));
    expect(found.environment.name).toBe("coins");
    expect(found.recipe.environment).toEqual({
      module: join(folder, "coins.ts"),
      moduleHash: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      side: "heads",
      count: 3,
    });
  });

  it("may have another name than the default export", async () => {
    write("games.ts", `export const coins: unknown = ${definition};`);
    const { environment: made } = await resolve(recipe("module: ./games.ts\n  export: coins"));
    expect(made.name).toBe("coins");
  });

  it("is relative to the file that names it, through extends, and to the working directory in an override", async () => {
    write("below/coins.ts", coins);
    write("below/base.yaml", recipe("module: ./coins.ts"));
    const text = "extends: below/base.yaml\nname: above\n";
    expect((await resolve(text)).recipe.environment.module).toBe(join(folder, "below", "coins.ts"));
    await expect(resolve(text, ["environment.module=./coins.ts"])).rejects.toThrow(
      "override `environment.module=./coins.ts`: environment.module: there is no file ./coins.ts, relative to",
    );
  });

  it("is also found in an installed package, by name and by a path in it", async () => {
    const exported = { ".": { import: "./index.js" }, "./environment": "./coins.mjs" };
    const described = { name: "our-games", type: "module", exports: exported };
    write("node_modules/our-games/package.json", JSON.stringify(described));
    write("node_modules/our-games/index.js", coins);
    write("node_modules/our-games/coins.mjs", coins.replaceAll('"coins"', '"other"'));
    const whole = await resolve(recipe("module: our-games"));
    expect(whole.recipe.environment.module).toBe(join(folder, "node_modules/our-games/index.js"));
    expect((await resolve(recipe("module: our-games/environment"))).environment.name).toBe("other");
  });

  it("imports the Troupe that runs it", async () => {
    write(
      "coins.ts",
      `import { z } from "troupe";\nexport default { ...${definition}, options: z.strictObject({ count: z.int().default(2) }) };`,
    );
    const { recipe: made } = await resolve(recipe("module: ./coins.ts"));
    expect(made.environment).toMatchObject({ count: 2 });
    expect(await rejection(recipe("module: ./coins.ts\n  cuont: 3"))).toContain(
      "recipe.yaml:4:3: environment.cuont: unknown key; did you mean `count`? Keys of `environment`: name, module, export, moduleHash, count",
    );
  });
});

describe("a mistake in a module is one message", () => {
  const named = `export const coins = ${definition}`;
  const odd = '() => { throw new Error("count is odd"); }';
  const given = (parsing: string) => coins.replace("(given) => given", parsing);
  const nameless = `import { z } from "troupe"; export default { ...${definition}, options: z.object({ name: z.string() }) };`;
  const incomplete = coins.replace("render: String,", "").replace("heldOut: { size: 1", "heldOut: { size: 0");
  const failing = coins.replace(`(${environment})`, "{\n  return missing.length; }");
  const loading = 'export {};\n  throw new Error("no table");';
  const importing = { "coins.ts": 'import { x } from "./rules.ts";', "rules.ts": "export {};" };
  const packaged = (name: string) => ({
    "node_modules/ours/package.json": `{ "exports": "./${name}", "type": "module" }`,
    [`node_modules/ours/${name}`]: coins,
  });
  const cases: readonly (readonly [says: RegExp, files: Readonly<Record<string, string>>, more?: string])[] =
    [
      [/no file \.\/coins\.ts, relative to .*test #\d+; /, {}],
      [/did you mean coins\.ts\?/, { "coins.ts": coins }, "module: ./cions.ts"],
      [/; did you mean coins\.ts\?/, { "coins.ts": coins }, "module: ./coins"],
      [/\.\/games is a folder; name a file in it/, { "games/index.ts": coins }, "module: ./games"],
      [/no package coins\.ts; write \.\/coins\.ts for the file/, { "coins.ts": coins }, "module: coins.ts"],
      [/no package our-games, .*; install it \(`npm install our-games`\)/, {}, "module: our-games"],
      [/mean `@ours\/games`/, { "node_modules/@ours/games/index.js": coins }, "module: '@ours/gmaes/coins'"],
      [/fs is neither a file nor an installed package/, {}, "module: fs"],
      [/https:\/\/x\.y\/z\.ts is not a module/, {}, "module: https://x.y/z.ts"],
      [/not a module; name a file that ends in \.ts/, { "coins.yaml": "x: 1" }, "module: ./coins.yaml"],
      [/coins\.ts:2: Expression expected/, { "coins.ts": "\nconst a = = 2;" }],
      [/coins\.js:1: Unexpected token '='/, { "coins.js": "const a = = 2;" }, "module: ./coins.js"],
      [/coins\.ts:1: .*enum.*; Node only strips types/, { "coins.ts": "enum A { B }" }],
      [/imports rules\.ts, .*; imports need file ext/, { "coins.ts": 'import "./rules.ts"; export {};' }],
      [/coins\.ts imports left-pad, .*; install it/, { "coins.ts": 'import "left-pad";' }],
      [/'\.\/rules\.ts' does not .*'x'/, importing],
      [/threw "Error: no table" \(coins\.ts:2:9\) while/, { "coins.ts": loading }],
      [/add `export: coins`; it/, { "coins.ts": named }],
      [/no default export; write `export default …`/, { "coins.ts": "export {}" }],
      [/`cions`; did you mean `coins`/, { "coins.ts": named }, "module: ./coins.ts\n  export: cions"],
      [/environment's definition.*, found a number/, { "coins.ts": "export default 3" }],
      [/create: \(\) => environment/, { "coins.ts": `export default ${environment}` }],
      [
        /`create` returned no environment: no function `render`; the split `heldOut` needs a `size` above 0/,
        { "coins.ts": incomplete },
      ],
      [/: coins\.ts threw "Refer.* \(coins\.ts:2:3\) while making/, { "coins.ts": failing }],
      [/threw "Error: count is odd" \(coins\.ts:1:\d+\)/, { "coins.ts": given(odd) }],
      [/object with `since`.*plain data/, { "coins.ts": given("() => ({ since: new Date(0) })") }],
      [/has an option `name`, which is a reserved key; rename it/, { "coins.ts": nameless }],
      [
        /cannot be combined with `name`; remove one/,
        { "coins.ts": coins },
        "module: ./coins.ts\n  name: grid",
      ],
      [/environment\.name: missing; .* or `module`/, {}, "size: 3"],
      [
        /ours is TypeScript inside node_modules, .*; packages must ship JavaScript/,
        packaged("a.ts"),
        "module: ours",
      ],
      [/the package does not export ours\/b/, packaged("a.js"), "module: ours/b"],
    ];

  const whole = cases.map(([says, files, more = "module: ./coins.ts"]) => [says, files, more] as const);
  it.each(whole)("%s", async (message, files, more) => {
    for (const [name, text] of Object.entries(files)) write(name, text);
    const said = await rejection(recipe(more));
    expect(said).toMatch(message);
    expect(said).toMatch(/^recipe\.yaml:\d+:\d+: environment[.:]/);
    expect(said.split("\n")).toHaveLength(1);
  });
});

/** On Plan-Path, so that algorithms can be named along with modules. */
async function resolveWithGrid(given: string, overrides: readonly string[] = []) {
  const plain = given
    .replace("name: grid\n  size: 6", "name: plan-path\n  size: 4")
    .replaceAll("walker", "planner");
  return resolveRecipe(write("recipe.yaml", plain), overrides);
}

describe("an algorithm in a module", () => {
  const row = `import { algorithms, columns, z } from "troupe";
const options = z.strictObject({ samples: z.int().min(2).default(4) });
export default {
  source: "ours", summary: "", options,
  build: (given: unknown) => ({ ...algorithms.grpo.build(options.parse(given)), scale: columns.noScale }),
};`;
  const text = rightRecipe.replace("  name: at-grpo", "  module: ./own.ts");

  it("is a row like the included ones", async () => {
    write("own.ts", row);
    const { algorithm, recipe: made } = await resolveWithGrid(text);
    expect(algorithm).toMatchObject({
      name: "own",
      source: "ours",
      sampling: { branch: { root: 4, inner: 1 } },
    });
    expect(made.algorithm).toMatchObject({ module: join(folder, "own.ts"), samples: 4 });
  });

  it("is checked like the included ones: its options, its columns, what it compares", async () => {
    write("own.ts", row);
    await expect(resolveWithGrid(text, ["algorithm.samples=1"])).rejects.toThrow(
      "algorithm.samples: expected a whole number, at least 2, found 1",
    );
    write("wrong.ts", "export default { options: { parse: (x) => x }, build: () => ({ score: () => 0 }) };");
    await expect(resolveWithGrid(text, [`algorithm.module="${join(folder, "wrong.ts")}"`])).rejects.toThrow(
      /`build` returned no algorithm: no function `returns`, `baseline` and `scale`; `sampling` needs .*; `grouping` .*; `objective`/,
    );
    write(
      "lone.ts",
      row
        .replace("...algorithms", "...{ ...algorithms")
        .replace("given)),", "given)), sampling: { branch: { root: 1, inner: 1 }, keep: 'all' } },"),
    );
    await expect(resolveWithGrid(text, [`algorithm.module="${join(folder, "lone.ts")}"`])).rejects.toThrow(
      "lone compares the actions of a group, but each group has one",
    );
  });
});

/** A row that is GRPO but for some columns. */
const grpo = (change: string) => `import { algorithmFrom, columns } from "troupe";
const grpo = algorithmFrom("grpo");
export default { source: "", summary: "", options: { parse: () => ({}) }, build: () => ({ ...grpo, ${change} }) };`;

describe("what nothing reads is rejected", () => {
  const text = rightRecipe.replace("  name: at-grpo", "  module: ./own.ts");
  it.each([
    [
      "objective: { ...grpo.objective, loss: { ...grpo.objective.loss, entropi: 0.5 } }",
      "objective.loss: unknown key `entropi`",
    ],
    ["objective: { ...grpo.objective, entropy: 0.5 }", "objective: unknown key `entropy` (known: loss"],
    ["objective: { ...grpo.objective, loss: { type: 'ppo', clipLow: 0.2 } }", "objective.loss: clipHigh: "],
    ["whitenning: null", "unknown key `whitenning` (did you mean `whitening`?)"],
    ["sampling: { ...grpo.sampling, keep: 'worst' }", "sampling.keep: "],
    ["grouping: { ...grpo.grouping, span: 'batch' }", "grouping: unknown key `span` (did you mean `spans`?)"],
    ["selection: { ...grpo.selection, truncated: 'maks' }", "selection.truncated: "],
    ["turnWeights: [1, -1]", "turnWeights.1: "],
    ["earlyEndWeight: -1", "earlyEndWeight: "],
    [
      "kl: { where: 'loss', estimator: 'k3', coefficient: 1, target: null, horizon: 1 }",
      "objective.loss.kl: is none",
    ],
  ])("of an algorithm: %s", async (change, message) => {
    write("own.ts", grpo(change));
    await expect(resolveWithGrid(text)).rejects.toThrow(`what \`build\` returned has a mistake: ${message}`);
  });

  it("of an algorithm's row", async () => {
    write("own.ts", grpo("").replace('summary: ""', 'sumary: ""'));
    await expect(resolveWithGrid(text)).rejects.toThrow("unknown key `sumary` (did you mean `summary`?)");
  });

  it("but not an entropy of the loss", async () => {
    write("own.ts", grpo("objective: { ...grpo.objective, loss: { ...grpo.objective.loss, entropy: 0.5 } }"));
    const { algorithm } = await resolveWithGrid(text);
    expect(algorithm.objective.loss).toMatchObject({ type: "ppo", entropy: 0.5 });
  });

  it.each([
    [
      "render: String,",
      "render: String, endturn: String,",
      "unknown key `endturn` (did you mean `endTurn`?)",
    ],
    ["maxTokens: ", "jugded: true, maxTokens: ", "unknown key `jugded` (did you mean `judged`?)"],
    ["size: 1", "sise: 2, size: 1", "unknown key `sise` (did you mean `size`?)"],
  ])("of an environment: %s", async (from, to, message) => {
    expect(coins).toContain(from);
    write("coins.ts", coins.replace(from, to));
    expect(await rejection(recipe("module: ./coins.ts"))).toContain(message);
  });

  it("of a definition", async () => {
    write("coins.ts", coins.replace("create:", "outlnie: null, create:"));
    expect(await rejection(recipe("module: ./coins.ts"))).toContain(
      "unknown key `outlnie` (did you mean `outline`?)",
    );
  });

  it("but not what a class has besides", async () => {
    const made = `Object.assign(new (class { cache = 3; })(), ${environment})`;
    write("coins.ts", coins.replace(`(${environment})`, `(${made})`));
    expect((await resolve(recipe("module: ./coins.ts"))).environment.name).toBe("coins");
  });
});

/** The recipe of a module with an import, in its own folder. */
async function inFolder(place: string, side: string): Promise<Recipe> {
  write(`${place}/rules.ts`, `export const side: string = "${side}";`);
  write(`${place}/coins.ts`, `import { side } from "./rules.ts";\nexport const known = side;\n${coins}`);
  return (await resolve(recipe("module: ./coins.ts"), [], `${place}/recipe.yaml`)).recipe;
}

describe("the recipe of a run", () => {
  it("names the module relative to the run's folder, so that a project can be moved as a whole", async () => {
    write("project/coins.ts", coins);
    const { recipe: made } = await resolve(recipe("module: ./coins.ts"), [], "project/recipe.yaml");
    const run = join(folder, "project", "runs", "first");
    const yaml = recipeToYaml(made, run);
    expect(yaml).toContain("module: ../../coins.ts\n");
    write("project/runs/first/recipe.yaml", yaml);
    renameSync(join(folder, "project"), join(folder, "elsewhere"));
    const again = await resolveRecipe(join(folder, "elsewhere", "runs", "first", "recipe.yaml"));
    expect(again.recipe.environment).toEqual({
      ...made.environment,
      module: join(folder, "elsewhere", "coins.ts"),
    });
  });

  it("is found if the run's folder is behind a link", async () => {
    write("coins.ts", coins);
    const { recipe: made } = await resolve(recipe("module: ./coins.ts"));
    mkdirSync(join(folder, "disk", "deep"), { recursive: true });
    symlinkSync(join(folder, "disk", "deep"), join(folder, "runs"));
    write("runs/recipe.yaml", recipeToYaml(made, join(folder, "runs")));
    const again = await resolveRecipe(join(folder, "runs", "recipe.yaml"));
    expect(again.recipe).toEqual(made);
  });

  it("has a hash of the module and what it imports, and a change of either gives a warning", async () => {
    const first = await inFolder("first", "heads");
    const recorded: unknown = parse(recipeToYaml(first, folder));
    expect(changedModules(recorded, await inFolder("same", "heads"))).toEqual([]);
    const changed = await inFolder("changed", "tails");
    expect(changedModules(recorded, changed)).toEqual([
      {
        key: "environment.module",
        problem: `${join(folder, "changed", "coins.ts")} has changed since the run started (content hash ${first.environment.moduleHash}, now ${changed.environment.moduleHash})`,
        fix: expect.any(String) as string,
      },
    ]);
  });
});
