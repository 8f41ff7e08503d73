import { expect, it } from "vitest";
import { algorithmFrom } from "./algorithms.ts";
import { usesRewards } from "./uses-rewards.ts";

it.each([
  ["at-grpo", {}, true],
  ["grpo", {}, false],
  ["grpo", { reward: "rewards" }, true],
  ["dr-grpo", { reward: "rewards" }, true],
  ["gspo", { reward: "rewards" }, true],
  ["rloo", { reward: "rewards" }, true],
  ["rloo", { reward: "outcome" }, false],
  ["reinforce", { reward: "outcome" }, false],
  ["reinforce", { reward: "action" }, true],
  ["reinforce-plus-plus", { reward: "turns" }, true],
  ["magrpo", {}, false],
  ["magrpo", { reward: "action" }, true],
  ["mas-grpo", { reward: "rewards" }, true],
  ["ppo", { kl: { where: "reward", coefficient: 0.1 } }, false],
  ["ppo", { reward: "action", critic: "central" }, true],
  ["iac", { reward: "action" }, true],
  ["maac", {}, false],
])("%s with %o: %s", (name, options, uses) => {
  expect(usesRewards(algorithmFrom(name, options))).toBe(uses);
});

const failing = (): number => {
  throw new Error("no reward");
};

it("assumes yes for an algorithm that fails on an unrewarded episode", () => {
  const algorithm = algorithmFrom("grpo", {});
  expect(usesRewards({ ...algorithm, returns: failing })).toBe(true);
});
