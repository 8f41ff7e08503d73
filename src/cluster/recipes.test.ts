/** The recipes for servers can be planned anywhere: without a server, weights, tokenizers or data. */
import { expect, it, vi } from "vitest";
import { resolveForPlan } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { planCluster } from "./plan.ts";
import { planLines } from "./report.ts";

const recipes = Object.entries(shippedRecipes()).filter(([name]) => name.startsWith("cluster/"));

it.each(recipes)("%s", async (name, file) => {
  vi.stubEnv("HF_HUB_OFFLINE", "1");
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
