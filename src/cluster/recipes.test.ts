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

it("actions that no GPU can train on are rejected", async () => {
  const longer = ["coder", "tester"].map((role) => `team.roles.${role}.maxTokens=200000`);
  const resolved = await resolveForPlan(shippedRecipes()["cluster/qwen3-8b-skyrl"] ?? "", longer);
  await expect(planCluster(resolved, { gpu: "h100" })).rejects.toThrow(
    "Training on a sequence of 201,000 tokens takes 92.2 GB of one GPU, however many there are; the H100 80 GB has too " +
      "little. Use shorter actions (maxTokens) or GPUs with more memory (--gpu).",
  );
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
