/** The recipes for servers can be planned anywhere: without a server, weights, tokenizers or data. */
import { beforeEach, expect, it, vi } from "vitest";
import { resolveForPlan } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { planCluster } from "./plan.ts";
import { planLines } from "./report.ts";

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
