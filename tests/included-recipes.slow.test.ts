/**
 * The included recipes for models that must be downloaded fit stand-ins for them: random weights of their architectures
 * (head size, shared keys and values, biases or norms of queries and keys, tied embeddings), vocabularies and kinds of chat
 * template, with fewer layers and a smaller width, and data of the same form as theirs. One recipe of each form completes a
 * training step. The coach of a recipe is one on this machine.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runCommand, troupe } from "../src/cli/testing/command.ts";
import { works } from "../src/environments/code/testing/sandbox.ts";
import { convertDsbench } from "../src/environments/data-science/tasks/dsbench.ts";
import { writeDsbench } from "../src/environments/data-science/testing/dsbench-folder.ts";
import { coachServer, type CoachServer } from "../src/judges/coach/testing/coach-server.ts";
import { initModel } from "../src/models/init.ts";
import type { Preset } from "../src/models/presets.ts";
import { loadTree } from "../src/recipes/load.ts";
import { resolveRecipe, type ResolvedRecipe } from "../src/recipes/resolve.ts";
import { shippedRecipes } from "../src/recipes/shipped.ts";
import { plainOf } from "../src/recipes/tree.ts";
import { readMetrics } from "../src/runs/read.ts";
import { hasPackages } from "../src/sandbox/packages/testing.ts";
import { likeDeepSeekR1, likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { train } from "../src/train/run.ts";
import { namedTeams } from "../src/train/teams.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-included-recipes-"));
const at = (name: string): string => path.join(folder, name);

const tokenizers = { qwen: likeQwen3, deepseek: likeDeepSeekR1 };

interface Model extends Pick<Preset, "architecture" | "tiedEmbeddings" | "heads" | "keyValueHeads"> {
  readonly tokenizer?: keyof typeof tokenizers;
}

const qwen2 = { architecture: "Qwen2ForCausalLM" } as const;
const qwen3 = { architecture: "Qwen3ForCausalLM" } as const;
/** Heads per shared key and value are those of the originals: 16 to 2, 28 to 4, 16 to 8, 32 to 8, 32 to 8, 12 to 2. */
const models: Readonly<Record<string, Model>> = {
  "Qwen2.5-Coder-3B": { ...qwen2, tiedEmbeddings: true, heads: 8, keyValueHeads: 1 },
  "Qwen2.5-Coder-7B": { ...qwen2, tiedEmbeddings: false, heads: 7, keyValueHeads: 1 },
  "Qwen3-1.7B": { ...qwen3, tiedEmbeddings: true, heads: 4, keyValueHeads: 2 },
  "Qwen3-4B": { ...qwen3, tiedEmbeddings: true, heads: 4, keyValueHeads: 1 },
  "Qwen3-8B": { ...qwen3, tiedEmbeddings: false, heads: 4, keyValueHeads: 1 },
  "DeepSeek-R1-Distill-Qwen-1.5B": {
    ...qwen2,
    tiedEmbeddings: false,
    heads: 6,
    keyValueHeads: 1,
    tokenizer: "deepseek",
  },
};
const narrow = { headSize: 128, hiddenSize: 32, layers: 2, intermediateSize: 64, maxLength: 8192 } as const;

/** As many as HumanEval has, so that the recipes' slices are there. */
const programs = Array.from({ length: 164 }, (_, index) => ({
  task_id: `made/${index}`,
  prompt: `def add_${index}(number):\n    """Add ${index} to a number."""\n`,
  entry_point: `add_${index}`,
  canonical_solution: `    return number + ${index}\n`,
  test: `def check(candidate):\n    assert candidate(1) == ${index + 1}\n`,
}));

const sums = Array.from({ length: 8 }, (_, index) => ({
  text: `Find the sum of all ${index + 3} smallest numbers that are squares and odd at the same time.`,
  result: index,
}));

/** Tasks of DSBench, each with a generated one of the same metric. */
const tables = {
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

const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

let coach: CoachServer;

beforeAll(async () => {
  coach = await coachServer((_, number) => ({ reason: "", blame: "none", score: number % 11 }));
  for (const [name, tokenizer] of Object.entries(tokenizers)) {
    mkdirSync(at(name));
    writeLargeTokenizer(at(name), tokenizer);
  }
  for (const [name, { tokenizer = "qwen", ...shape }] of Object.entries(models))
    await initModel({
      directory: at(name),
      preset: { ...narrow, ...shape },
      tokenizer: at(tokenizer),
      seed: 1,
    });
  writeFileSync(at("programs.jsonl"), lines(programs));
  writeFileSync(at("sums.jsonl"), lines(sums));
  writeDsbench(at("source"), tables);
  await convertDsbench({ source: at("source"), target: at("dsbench") });
});
afterAll(async () => {
  await coach[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface WrittenTeam {
  readonly roles: Readonly<Record<string, object | null>>;
}

/** What a recipe's file, with those that it extends, says. */
interface Written {
  readonly team: WrittenTeam;
  readonly policies: Readonly<Record<string, { readonly model: { readonly path: string } } | null>>;
  readonly judge?: Readonly<Record<string, unknown>>;
  readonly evaluation: {
    readonly passAt?: readonly number[];
    readonly compare?: Readonly<Record<string, WrittenTeam>>;
  };
}

const writtenIn = (file: string): Written => plainOf(loadTree(file)) as Written;

/** One short step on little data. */
function shortened(name: string, file: string): readonly string[] {
  const { team, policies, judge, evaluation } = writtenIn(file);
  const teams = Object.entries(evaluation.compare ?? {}).map(
    ([key, one]) => [`evaluation.compare.${key}`, one] as const,
  );
  return [
    ...dataOf(name),
    ...[["team", team] as const, ...teams].flatMap(([key, { roles }]) =>
      keysOf(roles).map((role) => `${key}.roles.${role}.maxTokens=8`),
    ),
    ...Object.entries(policies).flatMap(([policy, given]) =>
      given === null ? [] : [`policies.${policy}.model.path=${at(path.basename(given.model.path))}`],
    ),
    "train.tasksPerStep=1",
    "train.steps=1",
    "train.minibatches=1",
    "train.warmupSteps=0",
    "evaluation.tasks=1",
    ...(evaluation.passAt === undefined
      ? ["evaluation.samples=1"]
      : ["evaluation.samples=2", "evaluation.passAt=[1,2]"]),
    ...coachInsteadOf(judge),
  ];
}

const keysOf = (given: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(given).filter((key) => given[key] !== null);

const given = (key: string, value: unknown): string => `environment.${key}=${JSON.stringify(value)}`;

/** What a recipe says of its own data set, such as a configuration, does not go with files. */
const replaced = (key: string, value: unknown) => [given(key, null), given(key, value)];

const split = (all: string, ends: readonly [number, number]) => ({
  train: `${all}[${ends[1]}:]`,
  validation: `${all}[${ends[0]}:${ends[1]}]`,
  heldOut: `${all}[:${ends[0]}]`,
});

function dataOf(name: string): readonly string[] {
  if (name.startsWith("at-grpo-games/")) return ["team.turns=1"];
  if (name.startsWith("code/")) {
    const splits = name.startsWith("code/at-grpo") ? [given("splits", split("test", [16, 32]))] : [];
    return [...replaced("dataset", { files: { test: at("programs.jsonl") }, form: "humaneval" }), ...splits];
  }
  if (name.startsWith("math/")) {
    const fields = { prompt: "text", answer: "result" };
    return [
      given("dataset", { files: { train: at("sums.jsonl") }, fields }),
      ...replaced("splits", split("train", [2, 4])),
    ];
  }
  return name.includes("dsbench") ? [`environment.tasks=${at("dsbench")}`] : [];
}

/** Also of a judge in the team, who, untrained, writes no scores. */
function coachInsteadOf(judge: Written["judge"]): readonly string[] {
  if (judge === undefined || judge === null) return [];
  const served = { name: "coach", provider: "compatible", model: "tiny", baseUrl: coach.address };
  const own = judge["name"] === "coach" ? { ...judge, ...served, price: { input: 1, output: 1 } } : served;
  return ["judge=null", `judge=${JSON.stringify(own)}`];
}

async function resolved(name: string, changes: readonly string[] = []): Promise<ResolvedRecipe> {
  const file = shippedRecipes()[name] ?? "";
  // Not for data science, whose packages are in the user's cache.
  if (/^(code|math)\//.test(name)) vi.stubEnv("TROUPE_CACHE", at("cache"));
  return resolveRecipe(file, [...shortened(name, file), ...changes]);
}

/** Trains one step. @returns the run's folder */
async function trained(
  name: string,
  run = name.replace("/", "-"),
  changes: readonly string[] = [],
): Promise<string> {
  const recipe = await resolved(name, changes);
  const engine = await recipe.configuredEngine.open();
  try {
    expect((await train({ ...recipe, directory: at(run), engine })).status).toBe("finished");
  } finally {
    await engine.close();
  }
  return at(run);
}

const trainedIn = async (run: string): Promise<readonly string[]> =>
  Object.keys((await readMetrics(run))[0]?.policies ?? {}).toSorted();

/** The policies that learn: all but a judge's. */
function learningIn(name: string): readonly string[] {
  if (name.startsWith("at-grpo-games/"))
    return ["planner", name.includes("plan-path") ? "scout" : "proposer"];
  if (name.startsWith("data-science/")) return ["analyst", "data-engineer", "modeler"];
  if (/^code\/(at-grpo-single|grpo)/.test(name)) return ["coder"];
  if (name.startsWith("code/at-grpo")) return ["coder", "tester"];
  if (name.startsWith("code/")) return ["helper", "main"];
  const { policies } = writtenIn(shippedRecipes()[name] ?? "");
  return keysOf(policies)
    .filter((policy) => policy !== "judge")
    .toSorted();
}

/** Whether this machine has what the programs of a folder's recipes need. */
const runs: Readonly<Record<string, boolean>> = {
  "at-grpo-games": works,
  code: true,
  math: works,
  "data-science": hasPackages,
};
const names = Object.keys(shippedRecipes()).filter((name) => (name.split("/")[0] ?? "") in runs);

describe("the recipes for models that must be downloaded", { timeout: 600_000 }, () => {
  it.each(Object.keys(runs))("of %s are there", (parent) => {
    expect(names.filter((name) => name.startsWith(`${parent}/`)).length).toBeGreaterThan(2);
  });

  it.for(names)("%s fits such models and data", async (name) => {
    const { recipe, environment } = await resolved(name);
    expect(recipe.name).toBe(name.replace("/", "-"));
    expect(recipe.description).not.toBe("");
    const [{ team }] = namedTeams(recipe, environment);
    const learning = team.roles.filter(({ frozen }) => !frozen).map(({ policy }) => policy);
    expect([...new Set(learning)].toSorted()).toEqual(learningIn(name));
  });

  // One for each form of a team and each family of algorithms.
  it.for([
    "code/at-grpo-he",
    "code/grpo-he",
    "code/mt-magrpo-che",
    "data-science/dsbench-coach",
    "math/debate",
    "math/graph",
    "math/judge",
    "math/mathchat-aime-r1",
    "math/tool-reasoner-aggregator",
  ])("%s completes a step", async (name, { skip }) => {
    skip(runs[name.split("/")[0] ?? ""] !== true, "what runs its programs is missing");
    expect(await trainedIn(await trained(name))).toEqual(learningIn(name));
  });

  it.each([
    ["one model", ["team.roles.scout.policy=planner", "policies.scout=null"], ["planner"]],
    [
      "adapters",
      ["policies.scout.adapter.rank=16", "policies.planner.adapter.rank=16"],
      ["planner", "scout"],
    ],
  ])("of games share %s", async (title, changes, policies) => {
    const run = await trained("at-grpo-games/plan-path-direct", title.replace(" ", "-"), changes);
    expect(await trainedIn(run)).toEqual(policies);
    expect(existsSync(path.join(run, "programs.jsonl"))).toBe(false);
  });

  it.runIf(works)("of games with programs are replayed without running one again", async () => {
    const run = await trained("at-grpo-games/sudoku-program");
    expect(await trainedIn(run)).toEqual(learningIn("at-grpo-games/sudoku-program"));
    expect(readFileSync(path.join(run, "programs.jsonl"), "utf8")).not.toBe("");
    // No such backend: a program that is not recorded could not run.
    const env = { TROUPE_SANDBOX: "container", PATH: "/nowhere" };
    const { stdout, stderr, code } = await troupe(["replay", run], { cwd: folder, env });
    expect(`${stdout}${stderr}`).toMatch(/same|no difference/i);
    expect(code).toBe(0);
  });
});

const tableEnv = { TROUPE_CACHE: at("table-cache"), HF_ENDPOINT: "http://127.0.0.1:9" };
const magrpoTable = (...more: readonly string[]) =>
  runCommand(["experiment", "magrpo-table", ...more], { cwd: at("table"), env: tableEnv });
function put(file: string, text: string): void {
  mkdirSync(path.dirname(at(file)), { recursive: true });
  writeFileSync(at(file), text);
}
const tableModels = ["models/Qwen2.5-Coder-3B", "models/Qwen2.5-Coder-7B"];

describe("the experiment `magrpo-table`", { timeout: 120_000 }, () => {
  it("names all that is missing in one message, before anything starts", async () => {
    mkdirSync(at("table"));
    const { code, stdout, stderr } = await magrpoTable();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    for (const model of tableModels)
      expect(stderr).toContain(`hf download Qwen/${path.basename(model)} --local-dir ${model}`);
    for (const data of ["humaneval", "coophumaneval"])
      expect(stderr).toContain(`the data set ${data}: troupe data download ${data}`);
  });

  it("has the cells of the published recipes", async () => {
    for (const model of tableModels)
      for (const file of ["config.json", "tokenizer.json"]) put(`table/${model}/${file}`, "{}");
    const placed = "table-cache/data/placed";
    put(`${placed}/openai/openai_humaneval/test.jsonl`, lines(programs));
    put(`${placed}/OpenMLRL/CoopHumanEval/test.jsonl`, lines(programs.slice(82)));
    const { code, stdout, stderr } = await magrpoTable("--dry-run");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("12 results from 6 cells (6 trainings)");
  });
});
