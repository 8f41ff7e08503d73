/** Sizes and times by hand, the recipes for servers, and waiting for servers; no server is needed. */
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it, beforeEach, vi, afterAll } from "vitest";
import { hoursOf, runHours, serverSize, tokenDollars, trainingBytes } from "./cost.ts";
import type { Load } from "./load.ts";
import { gpus } from "./gpus.ts";
import { plannedPolicy, type PlannedPolicy } from "./sizes.ts";
import { resolveForPlan } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { planCluster } from "./plan.ts";
import { planLines } from "./report.ts";
import { openEngine } from "../engines/open.ts";
import { waitUntilReady } from "./ready.ts";

function policyOf(model: string, rank?: number): PlannedPolicy {
  const adapter =
    rank === undefined ? {} : { adapter: { rank, alpha: 32, targetModules: ["q_proj" as const] } };
  const found = plannedPolicy("role", { model: { path: `nowhere/${model}` }, ...adapter });
  if (found === null) throw new Error(model);
  return found;
}

// The counts of the models' pages at the hub.
it.each([
  ["Qwen3-0.6B", 0.6e9],
  ["Qwen3-1.7B", 1.72e9],
  ["Qwen3-4B", 4.02e9],
  ["Qwen3-8B", 8.19e9],
  ["Qwen2.5-Coder-3B", 3.09e9],
  ["DeepSeek-R1-Distill-Qwen-1.5B", 1.78e9],
])("%s has %d parameters", (model, parameters) => {
  expect(Math.abs(policyOf(model).parameters / parameters - 1)).toBeLessThan(0.01);
});

it("an adapter has r · (rows + columns) parameters per projection", () => {
  // 28 layers, q_proj [16 · 128, 1024]
  expect(policyOf("Qwen3-0.6B", 4).trainable).toBe(28 * 4 * (2048 + 1024));
});

it("a whole model in training takes 16 bytes per parameter, shared by the GPUs", () => {
  const policy = policyOf("Qwen3-8B");
  const [one, four] = [1, 4].map((count) => trainingBytes([policy], 1000, count)) as [number, number];
  expect(one - four).toBeCloseTo((16 * policy.parameters * 3) / 4, -3);
  // 131 GB of states: two GPUs leave too little for activations.
  expect(serverSize([policy], 5000, gpus.h100, true).gpus).toBe(4);
  expect(serverSize([policy], 5000, gpus.b200, true).gpus).toBe(1);
  expect(serverSize([policyOf("Qwen3-8B", 16)], 5000, gpus.h100, true).gpus).toBe(1);
});

it("no number of GPUs holds a sequence whose activations exceed one of them", () => {
  // 2 · 36 · 200,000 · 4096 + 34 · 200,000 · 4096 bytes and more, of which 85 % of 80 GB have no room.
  const { gpus: all, gpuBytes } = serverSize([policyOf("Qwen3-8B")], 200_000, gpus.h100, true);
  expect(all).toBe(Infinity);
  expect(gpuBytes).toBeCloseTo((2 * 36 + 34) * 200_000 * 4096 + 8 * 4096 * 151_936, -6);
});

it("separate samplers add their GPUs", () => {
  const { training, sampling, gpus: all } = serverSize([policyOf("Qwen3-1.7B", 16)], 5000, gpus.h100, false);
  expect([training, sampling, all]).toEqual([1, 1, 2]);
});

const load: Load = {
  sampled: 1e6,
  prefilled: 0,
  trained: 3e9,
  scored: 0,
  atATime: 1,
  longest: 0,
};

it("one sequence is written as fast as the weights are read; training runs at 15 % of the peak", () => {
  const policy = policyOf("Qwen3-8B");
  const size = { training: 2, sampling: 1, colocated: false, gpus: 3, gpuBytes: 0, hostBytes: 0 };
  const hours = hoursOf([{ policy, load }], size, gpus.h100);
  expect(hours.sampling).toBeCloseTo((1e6 * 2 * policy.parameters) / (0.5 * 3.35e12) / 3600, 9);
  expect(hours.training).toBeCloseTo((3e9 * 8 * policy.parameters) / (2 * 0.15 * 989e12) / 3600, 9);
});

// SkyRL's table of Search-R1: 512 × 5 sequences on 8 H100s with FSDP (docs/content/docs/examples/megatron.mdx there).
it.each([
  [3.09e9, 658, 42],
  [7.62e9, 834, 100],
])(
  "a model of %d parameters on %d tokens per sequence trains about as published",
  (parameters, tokens, seconds) => {
    const policy = { ...policyOf("Qwen3-8B"), parameters };
    const size = { training: 8, sampling: 8, colocated: true, gpus: 8, gpuBytes: 0, hostBytes: 0 };
    const step = { ...load, sampled: 0, trained: 2560 * tokens };
    const { training } = hoursOf([{ policy, load: step }], size, gpus.h100);
    // The two figures themselves differ by a third per operation.
    expect(Math.abs((3600 * training) / seconds - 1)).toBeLessThan(0.2);
  },
);

it("servers train at the same time, and sample so if their roles act together", () => {
  const servers = [
    { sampling: 3, training: 5 },
    { sampling: 4, training: 1 },
  ];
  // 240 steps of 15 seconds
  expect(runHours(servers, 240, false)).toEqual({ sampling: 7, training: 5, total: 13 });
  expect(runHours(servers, 240, true)).toEqual({ sampling: 4, training: 5, total: 10 });
});

it("tokens are priced per million", () => {
  const price = { prefill: 1, sample: 10, train: 100 };
  expect(tokenDollars({ ...load, prefilled: 2e6, scored: 1e6, trained: 1e6 }, price)).toBe(3 + 10 + 100);
});

const recipes = Object.entries(shippedRecipes()).filter(([name]) => name.startsWith("cluster/"));

beforeEach(() => void vi.stubEnv("HF_HUB_OFFLINE", "1"));

it.each(recipes)("%s", async (name, file) => {
  const plan = await planCluster(await resolveForPlan(file), { gpu: "h100" });
  expect(plan.servers.length > 0).toBe(!name.endsWith("-hosted"));
  expect(plan.servers.length > 0).toBe((plan.atMost.hours?.total ?? 0) > 0);
  expect(plan.atMost.dollars).toBeGreaterThan(plan.typical.dollars ?? Infinity);
  // Without a model's directory its published size is said to be used.
  const assumed = plan.policies
    .filter(({ isHere }) => !isHere)
    .map(({ model }) => `assumed: ${model} is not here: its published size is used`);
  expect(planLines(plan)).toEqual(expect.arrayContaining(assumed));
});

const planOf = async (name: string, overrides: readonly string[]) =>
  planCluster(await resolveForPlan(shippedRecipes()[name] ?? "", overrides), { gpu: "h100" });

const longer = ["coder", "tester"].map((role) => `team.roles.${role}.maxTokens=260000`);

it("actions that no GPU can train on are rejected", async () => {
  const models = ["coder", "tester"].map(
    (name) => `policies.${name}.model.path=models/Qwen3-4B-Instruct-2507`,
  );
  await expect(planOf("cluster/qwen3-8b-skyrl", [...longer, ...models])).rejects.toThrow(
    /^Training on a sequence of 261,000 tokens takes \S+ GB of one GPU, however many there are; the H100 80 GB has too little\. Use shorter actions \(maxTokens\) or GPUs with more memory \(--gpu\)\.$/,
  );
});

it("actions end where the model's context does, which is said", async () => {
  const { loads, warnings } = await planOf("cluster/qwen3-8b-skyrl", longer);
  expect(Object.values(loads).map(({ longest }) => longest)).toEqual([40_960, 40_960]);
  expect(warnings.map(({ key }) => key)).toEqual([
    "team.roles.coder.maxTokens",
    "team.roles.tester.maxTokens",
  ]);
  expect(warnings[0]).toMatchObject({
    problem:
      "sequences of policy coder have at most 40,960 tokens with the prompt, so actions end before 260,000",
    fix: "use 39,960 or less",
  });
  expect((await planOf("cluster/qwen3-8b-skyrl", [])).warnings).toEqual([]);
});

it("policies that share a model share the line of its price", async () => {
  const lines = planLines(await planOf("cluster/qwen3-8b-hosted", []));
  expect(lines.filter((line) => line.startsWith("Qwen/Qwen3-8B: $"))).toHaveLength(1);
});

it("a GPU costs what is asked for it, or its known price", async () => {
  const file = await resolveForPlan(shippedRecipes()["cluster/qwen3-1-7b-skyrl"] ?? "");
  const [known, given] = [
    await planCluster(file, { gpu: "h200" }),
    await planCluster(file, { gpu: "h200", perHour: 2 }),
  ];
  expect(known.dollarsPerHour).toBe(4.45);
  // Doubles differ in the last bit.
  expect(given.atMost.dollars).toBeCloseTo((known.atMost.dollars ?? 0) * (2 / 4.45), 6);
});

it("of a model at the hub, the files that a plan reads are named", async () => {
  const given = "policies.coder.model.path=Qwen/Qwen2.5-0.5B-Instruct";
  await expect(planOf("cluster/qwen3-8b-hosted", [given])).rejects.toThrow(
    "The size of the model of policy coder is not known: `hf download Qwen/Qwen2.5-0.5B-Instruct config.json " +
      "generation_config.json tokenizer.json tokenizer_config.json --local-dir models/Qwen2.5-0.5B-Instruct`, then " +
      "`policies.coder.model.path=models/Qwen2.5-0.5B-Instruct`.",
  );
});

const trainedOn = (path: string) =>
  planOf("plan-path", [`policies.shared.model={preset: null, path: ${path}}`]);

it("what trains on this machine has no price, and is fetched whole", async () => {
  expect(planLines(await planOf("math/grpo-gsm8k", [])).join("\n")).not.toMatch(/price|at most:/);
  await expect(trainedOn("models/unknown")).rejects.toThrow(
    "`hf download OWNER/unknown --local-dir models/unknown`",
  );
});

it("a model directory that lacks something can be planned with only where a server trains", async () => {
  const directory = "tests/fixtures/models/qwen3";
  await expect(trainedOn(directory)).rejects.toThrow(`no tokenizer.json in ${directory}`);
  const { assumptions } = await planOf(
    "cluster/qwen3-1-7b-skyrl",
    ["scout", "planner"].map(ofRole(directory)),
  );
  expect(assumptions.join()).toContain("a tokenizer is missing");
});

const ofRole = (path: string) => (role: string) => `policies.${role}.model.path=${path}`;

it("a model's file is no directory, wherever it trains", async () => {
  const file = "tests/fixtures/models/qwen3/config.json";
  const message = `${file} is a file; expected a model's directory`;
  await expect(trainedOn(file)).rejects.toThrow(message);
  await expect(planOf("cluster/qwen3-1-7b-skyrl", [ofRole(file)("scout")])).rejects.toThrow(message);
});

it("the loss's own forward passes are counted: references, surrogates, samples of earlier weights", async () => {
  const file = shippedRecipes()["cluster/qwen3-8b-hosted"] ?? "";
  const scored = async (...overrides: string[]) => {
    const { loads } = await planCluster(await resolveForPlan(file, overrides), { gpu: "h100" });
    return (loads["coder"]?.scored ?? 0) / (loads["coder"]?.trained ?? 1);
  };
  expect(await scored()).toBe(0);
  expect(await scored("train.maxLag=1")).toBe(1);
  expect(await scored("algorithm.kl.where=loss")).toBe(2);
  expect(await scored("algorithm.kl.where=loss", "train.epochs=2")).toBe(1.5);
});

it("servers whose roles act one after the other wait for each other", async () => {
  const name = "cluster/qwen3-1-7b-skyrl";
  const hours = async (...overrides: string[]) => (await planOf(name, overrides)).atMost.hours;
  const [inTurn, together] = [await hours(), await hours("team.phases=[[scout, planner]]")];
  expect(together?.sampling).toBeLessThan(0.75 * (inTurn?.sampling ?? 0));
});

const silent = createServer(() => undefined).listen(0, "127.0.0.1");
await once(silent, "listening");
afterAll(() => void silent.close());
const address = silent.address();
const silentPort = typeof address === "object" && address !== null ? address.port : 0;

async function waitAt(port: number, seconds: number): Promise<{ lines: readonly string[]; error: unknown }> {
  const overrides = [`engine.url=http://127.0.0.1:${port}`, "engine.servers=null"];
  const { recipe } = await resolveForPlan(shippedRecipes()["cluster/qwen3-1-7b-skyrl"] ?? "", [
    ...overrides,
    "policies.scout=null",
    "team.roles.scout.policy=planner",
  ]);
  const lines: string[] = [];
  const error = await waitUntilReady(() => openEngine(recipe.engine), recipe, {
    seconds,
    retrySeconds: 0.1,
    noteSeconds: 0.3,
    note: (line) => lines.push(line),
  }).then(
    () => null,
    (caught: unknown) => caught,
  );
  return { lines, error };
}

// At the same time, because they wait.
it.concurrent.each([
  ["nobody listens", 9, /^The servers are not ready after \d\.\d s\. .*127\.0\.0\.1:9/],
  ["nothing answers", silentPort, /^The servers are not ready after \d\.\d s\. .*127\.0\.0\.1:\d+/],
] as const)("where %s, it says that it waits, and ends with the time", async (_, port, message) => {
  const { lines, error } = await waitAt(port, 1);
  expect(lines).toContainEqual(
    expect.stringMatching(/^waiting for the servers since \d\.\d s, at most 1\.0 s$/),
  );
  expect(error).toMatchObject({ message: expect.stringMatching(message) as string });
});
