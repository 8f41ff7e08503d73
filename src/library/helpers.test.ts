/** Helpers of modules and programs: whatever they are called with, the result is a value or a TroupeError. */
import path from "node:path";
import { writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { TroupeError } from "../errors.ts";
import * as library from "../index.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { growEpisode } from "../rollout/grow.ts";
import { numbers, numbersPolicy, pair, settingFor } from "../rollout/testing/numbers.ts";
import { scriptedEngine } from "../rollout/testing/scripted-engine.ts";
import { invalidCalls, thrownBy } from "../testing.ts";
import { HashEngine } from "../train/testing/hash-engine.ts";
import * as calls from "./calls.ts";

const folder = temporaryFolder();
const own = { HF_HUB_OFFLINE: "1", TROUPE_CACHE: path.join(folder, "cache") };
Object.assign(process.env, own);
afterAll(() => Object.keys(own).forEach((name) => delete process.env[name]));

const policy = numbersPolicy();
const scheme = { branch: { root: 2, inner: 1 }, keep: "all" } as const;
const scripted = scriptedEngine(policy.tokenizer, (_, index) => `${index + 1}`);
const episode = await growEpisode(settingFor(policy, { engine: scripted, scheme }), library.rootKey(1), {
  task: { size: 4 },
  path: ["train", 3, 0],
  split: "train",
});
const node = episode.nodes[1];
const { json, prompts } = library.encodeEpisode(episode);
const key = library.rootKey(1);
const generator = library.generatorOf(key);
const engine = new HashEngine({ vocabularySize: 50, endToken: 2 });

const problems = path.join(folder, "problems.jsonl");
writeFileSync(problems, '{"id":"1","question":"1 + 1?","answer":"#### 2"}\n');

const seat = {
  writer: "scout",
  reader: "planner",
  task: "Find a way.",
  input: () => ({}),
  limits: { seconds: 1, megabytes: 64, characters: 100 },
};
const planner = { purpose: "Plays.", prompt: "", maxTokens: 4 };
const nothing = { team: 0, local: 0, parts: {} };
/** Accepts any state. */
const tolerant = {
  name: "nothing",
  seats: { first: planner, second: planner },
  words: ["go"],
  splits: ["train"] as const,
  task: () => ({}),
  start: () => ({}),
  observe: () => "",
  step: (_: unknown, actions: object) => {
    const rewards = Object.fromEntries(Object.keys(actions).map((name) => [name, nothing]));
    return { state: {}, rewards, done: true };
  },
  outcome: () => ({ success: false, score: 0 }),
  render: () => "",
  solve: () => "go",
};
const game = { ...tolerant, seats: { planner }, programs: seat };
const definition = {
  name: "nothing",
  summary: "Nothing.",
  options: library.z.strictObject({ size: library.z.int().default(1) }),
  create: () => tolerant,
};
const source = {
  size: 1,
  malformed: [],
  failing: [],
  shingled: async () => [{ id: "1", shingles: Uint32Array.of(1) }],
};
const use = { fills: "missing", as: "team", outcomeWeight: 0.5 };
const judge = { judge: async () => [], settle: async () => {}, close: async () => {} };

const valid = {
  rootOf: [episode],
  nodeOf: [episode, "0"],
  parentOf: [episode, node],
  childrenOf: [episode, node],
  pathTo: [episode, node],
  edgesOf: [episode, node],
  occurrencesOf: [episode, episode.actions[0]],
  encodeEpisode: [episode],
  decodeEpisode: [json, (hash: string) => prompts.get(hash), "here"],
  judgeEpisode: [episode, judge, use],
  withoutVerdicts: [episode],
  replayEpisode: [{ environment: library.gameEnvironment(tolerant), team: pair, root: key }, episode],
  rescore: [[episode], { algorithm: library.algorithmFrom("magrpo"), judge: { judge, use } }],
  rootKey: [1],
  childKey: [key, "name"],
  keyAt: [key, "name", 1],
  generatorOf: [key],
  drawInt: [generator, 3],
  drawFloat: [generator],
  shuffled: [generator, [1, 2]],
  taskList: [[1, 2]],
  gameEnvironment: [game],
  gameDefinition: [definition],
  withPrograms: [numbers, seat],
  taskSources: [{ dataset: { files: problems, form: "gsm8k" }, splits: { train: "train[:1]" } }],
  sourceWarnings: [{ train: source, heldOut: source }, "dataset"],
  conformanceChecks: [library.gameDefinition(definition), { options: { size: 2 }, turns: 1, tasks: 3 }],
  algorithmChecks: [library.algorithmFrom("grpo"), 1],
  engineChecks: [{ open: () => engine, model: "model", folder: "folder", tolerance: 0.1 }],
  retryingEngine: [engine, { retries: 1, firstDelay: 1, longestDelay: 1 }],
} satisfies Partial<Record<keyof typeof library, readonly unknown[]>>;

const functions: Readonly<Record<keyof typeof valid, unknown>> = library;

async function call(name: keyof typeof valid, given: readonly unknown[]): Promise<void> {
  await (functions[name] as (...all: readonly unknown[]) => unknown)(...given);
}

it.each(Object.keys(valid) as (keyof typeof valid)[])("%s accepts what is right", async (name) => {
  const error = await thrownBy(() => call(name, valid[name]));
  expect(error).toBe(undefined);
});

it("fails with a TroupeError", { timeout: 240_000 }, async () => {
  const thrown: unknown[] = [];
  const property = fc.asyncProperty(invalidCalls<keyof typeof valid>(valid), async ({ name, given }) => {
    const error = await thrownBy(() => call(name, given));
    if (error !== undefined) thrown.push(error);
    const isRight = error === undefined || (error instanceof TroupeError && error.code !== "internal");
    if (!isRight) throw error;
  });
  await fc.assert(property, { numRuns: 3000 });
  expect(thrown).not.toEqual([]);
});

it.each([
  ["childKey", [undefined, "x"], "parent: expected a key (rootKey), not undefined."],
  ["drawInt", [generator, 0], "bound: expected an integer of at least 1, not 0."],
  ["drawFloat", [null], "generator: expected a generator (generatorOf), not null."],
  ["shuffled", [generator, undefined], "items: expected an array, not undefined."],
  ["edgesOf", [{}, node], "episode.id: Invalid input: expected string, received undefined."],
  ["taskList", [{ size: 1 }], "tasks: Invalid input: expected array, received object."],
  ["conformanceChecks", [undefined], "definition: Invalid input: expected object, received undefined."],
] as const)("%s names the argument", async (name, given, message) => {
  expect(await thrownBy(() => call(name, given))).toMatchObject({ code: "bad_arguments", message });
});

/** Classes; `row` and `unrecordedCalls` use nothing that they are given. */
const others = ["RecipeError", "ServiceError", "TroupeError", "VerbOrder", "row", "unrecordedCalls"];

it("checks the arguments of every function, here or in calls.test.ts", () => {
  const named = Object.entries(library).filter(([, value]) => typeof value === "function");
  const elsewhere = new Set([...Object.keys(valid), ...others, ...Object.keys(calls), "openEngine"]);
  expect(named.map(([name]) => name).filter((name) => !elsewhere.has(name))).toEqual([]);
});
