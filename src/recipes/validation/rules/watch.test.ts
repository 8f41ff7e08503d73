import { expect, it } from "vitest";
import type { ConfiguredEngine } from "../../../engines/kind.ts";
import type { RecipeInput } from "../../schema.ts";
import { recipeSchema, type Recipe } from "../../schema.ts";
import { withLimits } from "../../defaults.ts";
import { shown } from "../../fixtures/catalog.ts";
import type { Subject } from "../rule.ts";
import { measuredLimits } from "./watch.ts";

const base: RecipeInput = {
  name: "watched",
  environment: { name: "grid" },
  team: { roles: { scout: { policy: "shared" } }, turns: 1 },
  policies: { shared: { model: { path: "somewhere" } } },
  algorithm: { name: "grpo" },
  train: { steps: 5, tasksPerStep: 8, learningRate: 0.001 },
};
const train = { steps: 5, tasksPerStep: 8, learningRate: 0.001 };
const environment = { name: "grid" };
const program = { name: "command", drive: () => Promise.reject(new Error("never")) };
const hosted = { title: "the engine `tinker`", capabilities: { gradientNorm: false } } as ConfiguredEngine;

const recipeOf = (changes: Partial<RecipeInput>): Recipe => recipeSchema.parse({ ...base, ...changes });

function problems(changes: Partial<RecipeInput>, parts: object = {}): string[] {
  const subject = { recipe: recipeOf(changes), environment, ...parts } as unknown as Subject;
  return shown(measuredLimits(subject));
}

const entropy: RecipeInput["watch"] = { limits: { entropy: { below: 0.1 } } };
const influence: RecipeInput["watch"] = { limits: { influence: { below: 0.1 } } };
const evaluation: RecipeInput["watch"] = { limits: { evaluation: { drop: 0.5 } } };
const kl: RecipeInput["watch"] = { limits: { kl: { above: 0.5 } } };
const gradientNorm: RecipeInput["watch"] = { limits: { gradientNorm: { above: 9 } } };

const everyTenth = { ...influence, influence: { every: 10 } };

it.each<[Partial<RecipeInput>, object, string]>([
  [{ watch: influence }, {}, "influence: .*every is 0; set `watch.influence.every=10`"],
  [{ watch: evaluation }, {}, "evaluation: .*every is 0; set `evaluation.every`, or .* `success`"],
  [
    { watch: entropy, train: { ...train, temperature: 0.7, topP: 0.9 } },
    {},
    "entropy: .* temperature 0.7, topK 0 and topP 0.9; use temperature 1, topK 0 and topP 1",
  ],
  [{ watch: entropy, train: { ...train, topK: 20 } }, {}, "entropy: "],
  [
    { watch: gradientNorm },
    { configuredEngine: hosted },
    "gradientNorm: the engine `tinker` does not measure",
  ],
  [
    { watch: kl },
    {},
    "kl: with one optimizer step .*; set `train.minibatches=2`, or .* `entropy` and `success`",
  ],
  [{ watch: everyTenth }, { environment: program }, "influence: influence is not measured in command"],
  [{ watch: entropy }, { environment: program }, "entropy: "],
])("rejects a limit of a figure that is never measured: %j", (changes, parts, message) => {
  expect(problems(changes, parts)).toEqual([expect.stringMatching(`^watch.limits.${message}`)]);
});

it("accepts limits of figures that the recipe measures", () => {
  expect(problems({ watch: everyTenth })).toEqual([]);
  expect(problems({ watch: evaluation, evaluation: { every: 1 } })).toEqual([]);
  expect(problems({ watch: entropy })).toEqual([]);
  expect(problems({ watch: gradientNorm })).toEqual([]);
  for (const several of [{ minibatches: 2 }, { epochs: 2 }, { maxLag: 1 }] as const)
    expect(problems({ watch: kl, train: { ...train, ...several } })).toEqual([]);
  expect(problems({ watch: "off" })).toEqual([]);
});

/** Names of the default limits, none of which is rejected. */
function limitsOf(changes: Partial<RecipeInput>, parts: object = {}): string {
  const recipe = recipeOf(changes);
  const { watch } = withLimits(recipe, { environment, configuredEngine: undefined, ...parts });
  expect(problems({ ...changes, watch }, parts)).toEqual([]);
  return Object.keys(watch === undefined || watch === "off" ? {} : (watch.limits ?? {})).join(" ");
}

it("leaves what is not measured out of the limits of pretrained models", () => {
  const twice = { ...train, minibatches: 2 };
  expect(limitsOf({ evaluation: { every: 2 }, train: twice })).toBe(
    "entropy flatGroups kl success evaluation",
  );
  expect(limitsOf({ train: twice })).toBe("entropy flatGroups kl success");
  expect(limitsOf({})).toBe("entropy flatGroups success");
  expect(limitsOf({ train: { ...train, temperature: 0.5 } })).toBe("flatGroups success");
  expect(limitsOf({}, { environment: program })).toBe("flatGroups success");
});
