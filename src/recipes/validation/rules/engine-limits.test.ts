import { expect, it } from "vitest";
import { algorithmFrom } from "../../../credit/algorithms.ts";
import type { EngineLimits, EngineCapabilities } from "../../../engines/engine.ts";
import { configureEngine } from "../../../engines/kind.ts";
import { engineKinds } from "../../../engines/open.ts";
import { recipeSchema, type RecipeInput } from "../../schema.ts";
import type { Subject } from "../rule.ts";
import { engineLimits } from "./engine.ts";

const role = { policy: "one", prompt: "" };
const base: RecipeInput = {
  name: "limits",
  environment: { name: "plan-path" },
  team: {
    roles: { scout: role, planner: { ...role, policy: "two" } },
    phases: [["scout"], ["planner"]],
    turns: 1,
  },
  policies: {
    one: { model: { path: "m" }, adapter: { rank: 8, alpha: 32 } },
    two: { model: { path: "m" }, adapter: { rank: 16, alpha: 16, targetModules: ["q_proj"] } },
  },
  algorithm: { name: "at-grpo" },
  train: { steps: 1, tasksPerStep: 1, learningRate: 0.001, clipNorm: 1, beta2: 0.95 },
};

function problemsOf(limits: EngineLimits, kl = false, own: Partial<RecipeInput> = {}): string[] {
  const algorithm = algorithmFrom("at-grpo", kl ? { kl: { where: "reward", coefficient: 0.1 } } : {});
  const recipe = recipeSchema.parse({ ...base, ...own });
  const capabilities: EngineCapabilities = { ...engineKinds.local.capabilities({}), limits };
  const kind = recipe.engine.type === "tinker" ? engineKinds.tinker : engineKinds.local;
  const configuredEngine = { ...configureEngine("limited", kind, recipe.engine), capabilities };
  const subject = { recipe, algorithm, configuredEngine } as unknown as Subject;
  return engineLimits(subject).map(({ path, problem, fix }) => `${path.join(".")}: ${problem}; ${fix}`);
}

it("accepts what the server has", () => {
  expect(problemsOf({})).toEqual([]);
  expect(problemsOf({ adam: { clipNorm: 1 }, policies: 2 })).toEqual([]);
});

it.each([
  [
    { adam: { clipNorm: 0 } },
    ["train.clipNorm: the server does not take it from a step; set it to the server's 0"],
  ],
  [{ adapterAlpha: 32 }, ["policies.two.adapter.alpha: the server's adapters have another; set it to 32"]],
  [
    { adapterModules: [["q_proj", "k_proj"]] },
    [
      "policies.one.adapter.targetModules: the server's adapters have another; set it to [q_proj, k_proj]",
      "policies.two.adapter.targetModules: the server's adapters have another; set it to [q_proj, k_proj]",
    ],
  ],
  [
    { policies: 1 },
    [
      "policies: the server has room for 1 of 2; let roles share a policy, or give policies servers of their own (engine.servers)",
    ],
  ],
] as const)("rejects what %j excludes", (limits, expected) => {
  expect(problemsOf(limits)).toEqual(expected);
});

it("references need room", () => {
  expect(problemsOf({ policies: 3 }, true)).toEqual([
    "algorithm.kl: the server has no room for references; remove it",
  ]);
  expect(problemsOf({ policies: 4 }, true)).toEqual([]);
});

it("adapters on a trained base need a server that makes them", () => {
  const taught: Partial<RecipeInput> = {
    warmStart: { steps: 1, demonstrationsPerStep: 1, learningRate: 0.001, teach: "bases" },
  };
  expect(problemsOf({ servedBases: true }, false, taught)).toEqual([
    "warmStart.teach: the server makes no adapters on trained models, as one would be; use `teach: policies`, or `profile: troupe`",
  ]);
  expect(problemsOf({}, false, taught)).toEqual([]);
  expect(problemsOf({ servedBases: true })).toEqual([]);
});

/** A recipe whose `policies` are on a second server. */
function apart(...policies: string[]): Partial<RecipeInput> {
  const servers = Object.fromEntries(policies.map((policy) => [policy, "http://two:8000"]));
  return { engine: { type: "tinker", url: "http://one:8000", profile: "skyrl-fsdp", servers } };
}

it("each server has room for its own policies", () => {
  expect(problemsOf({ policies: 1 }, false, apart("two"))).toEqual([]);
  expect(problemsOf({ policies: 1 }, false, apart("one", "two"))).toHaveLength(1);
  expect(problemsOf({}, false, apart("three"))).toEqual([
    "engine.servers.three: there is no such policy; name one of one, two",
  ]);
});
