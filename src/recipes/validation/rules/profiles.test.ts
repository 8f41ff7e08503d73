/** What recipes need, and the kinds of servers that have it. On the others they are rejected, with an alternative. */
import { expect, it } from "vitest";
import { algorithmFrom } from "../../../credit/algorithms.ts";
import { configureEngine } from "../../../engines/kind.ts";
import { engineKinds } from "../../../engines/open.ts";
import { recipeSchema, type RecipeInput } from "../../schema.ts";
import type { Subject } from "../rule.ts";
import { engineSupport, lossSupport, engineLimits } from "./engine.ts";

interface Case {
  readonly has: string;
  readonly own: Partial<RecipeInput>;
  readonly algorithm?: string;
}

const role = { policy: "one", prompt: "" };
const adapter = { rank: 8, alpha: 32 };
const model = { path: "m" };
/** Of SkyRL's trainers; the others take these values too, but for a fixed norm. */
const train = { steps: 1, tasksPerStep: 1, learningRate: 0.001 };
const trainers = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };
const all = "troupe hosted open-rl skyrl-jax skyrl-fsdp";

const clip = (clipNorm: number): Partial<RecipeInput> => ({
  policies: { one: { model, adapter } },
  train: { ...train, ...trainers, clipNorm },
});
const whole: Partial<RecipeInput> = {
  policies: { one: { model } },
  train: { ...train, ...trainers, clipNorm: 1 },
};
const two = (rank: number): Partial<RecipeInput> => ({
  team: {
    roles: { scout: role, planner: { ...role, policy: "two" } },
    phases: [["scout"], ["planner"]],
    turns: 1,
  },
  policies: { one: { model, adapter }, two: { model, adapter: { ...adapter, rank } } },
});

const cases: Readonly<Record<string, Case>> = {
  "an adapter, a norm of 0": { has: "troupe hosted open-rl skyrl-jax", own: clip(0) },
  "an adapter, a norm of 1": { has: "troupe hosted skyrl-fsdp", own: clip(1) },
  "a whole model": { has: "troupe skyrl-fsdp", own: whole },
  "two adapters of one rank": { has: "troupe hosted", own: { ...clip(1), ...two(8) } },
  "two adapters of two ranks": { has: "troupe hosted", own: { ...clip(1), ...two(4) } },
  "another beta": {
    has: "troupe hosted",
    own: { ...clip(1), train: { ...train, ...trainers, clipNorm: 1, beta2: 0.9 } },
  },
  "an alpha of twice the rank": {
    has: "troupe",
    own: { ...clip(1), policies: { one: { model, adapter: { rank: 8, alpha: 16 } } } },
  },
  "a critic": { has: "troupe", own: clip(1), algorithm: "ppo" },
  "a ratio per sequence": {
    has: "troupe hosted skyrl-fsdp",
    own: clip(1),
    algorithm: "gspo",
  },
};

function problems(profile: string, own: Partial<RecipeInput>, name: string) {
  const base: RecipeInput = {
    name: "profiles",
    environment: { name: "plan-path" },
    team: { roles: { scout: role }, phases: [["scout"]], turns: 1 },
    policies: { one: { model, adapter } },
    algorithm: { name: "grpo" },
    train,
    ...own,
    engine: { type: "tinker", url: "http://one:8000", profile: profile as "troupe" },
  };
  const recipe = recipeSchema.parse(base);
  const configuredEngine = configureEngine("tinker", engineKinds.tinker, recipe.engine);
  const subject = { recipe, algorithm: algorithmFrom(name, {}), configuredEngine } as unknown as Subject;
  return [...engineSupport(subject), ...engineLimits(subject), ...lossSupport(subject)];
}

it.each(Object.entries(cases))("%s", (_, { has, own, algorithm = "grpo" }) => {
  const found = all.split(" ").map((profile) => ({ profile, found: problems(profile, own, algorithm) }));
  expect(found.filter((each) => each.found.length === 0).map(({ profile }) => profile)).toEqual(
    has.split(" "),
  );
  for (const { fix } of found.flatMap((each) => each.found)) expect(fix).not.toBe("");
});
