/** What recipes need of an engine: on one that lacks it they are rejected, with an alternative. */
import { describe, expect, it } from "vitest";
import { algorithmFrom } from "../../../credit/algorithms.ts";
import type { EngineCapabilities, EngineLimits } from "../../../engines/engine.ts";
import { configureEngine } from "../../../engines/kind.ts";
import { engineKinds } from "../../../engines/open.ts";
import { shown } from "../../fixtures/catalog.ts";
import { recipeSchema, type RecipeInput } from "../../schema.ts";
import type { Subject } from "../rule.ts";
import { engineLimits, engineSupport, lag, lossSupport, unsupported } from "./engine.ts";

const role = { policy: "one", prompt: "" };
const model = { path: "m" };
const adapter = { rank: 8, alpha: 32 };
const train = { steps: 1, tasksPerStep: 1, learningRate: 0.001 };
const alone: RecipeInput = {
  name: "alone",
  environment: { name: "plan-path" },
  team: { roles: { scout: role }, phases: [["scout"]], turns: 1 },
  policies: { one: { model, adapter } },
  algorithm: { name: "at-grpo" },
  train,
};
const twoRoles: RecipeInput["team"] = {
  roles: { scout: role, planner: { ...role, policy: "two" } },
  phases: [["scout"], ["planner"]],
  turns: 1,
};

const modules = (policy: string) =>
  `policies.${policy}.adapter.targetModules: .* set it to \\[q_proj, k_proj\\]`;

/** With `policies` on a second server. */
const apart = (...policies: string[]): Partial<RecipeInput> => {
  const servers = Object.fromEntries(policies.map((policy) => [policy, "http://two:8000"]));
  return { engine: { type: "tinker", url: "http://one:8000", profile: "skyrl-fsdp", servers } };
};

describe("the limits of a server", () => {
  const base: RecipeInput = {
    ...alone,
    team: twoRoles,
    policies: {
      one: { model, adapter },
      two: { model, adapter: { rank: 16, alpha: 16, targetModules: ["q_proj"] } },
    },
    train: { ...train, clipNorm: 1, beta2: 0.95 },
  };

  function problemsOf(limits: EngineLimits, own: Partial<RecipeInput> = {}, kl = {}): string[] {
    const algorithm = algorithmFrom("at-grpo", kl);
    const recipe = recipeSchema.parse({ ...base, ...own });
    const capabilities: EngineCapabilities = { ...engineKinds.local.capabilities({}), limits };
    const kind = recipe.engine.type === "tinker" ? engineKinds.tinker : engineKinds.local;
    const configuredEngine = { ...configureEngine("limited", kind, recipe.engine), capabilities };
    return shown(engineLimits({ recipe, algorithm, configuredEngine } as unknown as Subject));
  }

  const taught: Partial<RecipeInput> = {
    warmStart: { steps: 1, demonstrationsPerStep: 1, learningRate: 0.001, teach: "bases" },
  };

  it.each<[EngineLimits, Partial<RecipeInput>, string[]]>([
    [{}, {}, []],
    [{ adam: { clipNorm: 1 }, policies: 2 }, {}, []],
    [{ adam: { clipNorm: 0 } }, {}, ["train.clipNorm: .* set it to the server's 0"]],
    [{ adapterAlpha: 32 }, {}, ["policies.two.adapter.alpha: .* set it to 32"]],
    [{ adapterModules: [["q_proj", "k_proj"]] }, {}, [modules("one"), modules("two")]],
    [{ policies: 1 }, {}, ["policies: .* room for 1 of 2; let roles share a policy"]],
    [{ servedBases: true }, taught, ["warmStart.teach: .* use `teach: policies`, or `profile: troupe`"]],
    [{}, taught, []],
    [{ servedBases: true }, {}, []],
    // Each server has room for its own policies.
    [{ policies: 1 }, apart("two"), []],
    [{ policies: 1 }, apart("one", "two"), ["policies: "]],
    [{}, apart("three"), ["engine.servers.three: there is no such policy; name one of one, two"]],
  ])("%j excludes of %j: %j", (limits, own, expected) => {
    expect(problemsOf(limits, own)).toEqual(
      expected.map((one) => expect.stringMatching(`^${one}`) as string),
    );
  });

  it("have to leave room for references", () => {
    const kl = { kl: { where: "reward", coefficient: 0.1 } };
    expect(problemsOf({ policies: 3 }, {}, kl)).toEqual([
      expect.stringMatching(/^algorithm\.kl: .* no room/),
    ]);
    expect(problemsOf({ policies: 4 }, {}, kl)).toEqual([]);
  });
});

const tinker = (profile: string) => configureEngine("tinker", engineKinds.tinker, { profile, servers: {} });

describe("`maxLag`", () => {
  const algorithm = algorithmFrom("at-grpo");

  function problemsOf(maxLag: number | undefined, own: Partial<Subject> = {}): readonly string[] {
    const configuredEngine = configureEngine("local", engineKinds.local, {});
    const recipe = { train: { maxLag } };
    return shown(lag({ recipe, algorithm, configuredEngine, ...own } as unknown as Subject));
  }

  it("needs an engine that samples from earlier weights, and a loss with importance weights", () => {
    expect(problemsOf(1)).toEqual([]);
    expect(problemsOf(1, { configuredEngine: tinker("hosted") })).toEqual([]);
    expect(problemsOf(0, { configuredEngine: tinker("skyrl-jax") })).toEqual([]);
    expect(problemsOf(undefined, { configuredEngine: tinker("skyrl-jax") })).toEqual([]);
    expect(problemsOf(1, { configuredEngine: tinker("skyrl-jax") })).toEqual([
      expect.stringMatching(
        /^train\.maxLag: .*`skyrl-jax` samples only .* latest weights; use `train\.maxLag: 0`/,
      ),
    ]);
    const objective = { loss: { type: "cross_entropy" }, aggregation: "token-mean" } as const;
    expect(problemsOf(1, { algorithm: { ...algorithm, name: "cloning", objective } })).toEqual([
      expect.stringMatching(
        /^train\.maxLag: the loss of cloning has no importance weights; use `train\.maxLag: 0`/,
      ),
    ]);
  });
});

interface Case {
  readonly has: string;
  readonly own: Partial<RecipeInput>;
  readonly algorithm?: string;
}

/** Of SkyRL's trainers; the others take these values too, but for a fixed norm. */
const trainers = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };
const all = "troupe hosted open-rl skyrl-jax skyrl-fsdp";

const clip = (clipNorm: number): Partial<RecipeInput> => ({ train: { ...train, ...trainers, clipNorm } });
const two = (rank: number): Partial<RecipeInput> => ({
  ...clip(1),
  team: twoRoles,
  policies: { one: { model, adapter }, two: { model, adapter: { ...adapter, rank } } },
});

const cases: Readonly<Record<string, Case>> = {
  "an adapter, a norm of 0": { has: "troupe hosted open-rl skyrl-jax", own: clip(0) },
  "an adapter, a norm of 1": { has: "troupe hosted skyrl-fsdp", own: clip(1) },
  "a whole model": { has: "troupe skyrl-fsdp", own: { ...clip(1), policies: { one: { model } } } },
  "two adapters of one rank": { has: "troupe hosted", own: two(8) },
  "two adapters of two ranks": { has: "troupe hosted", own: two(4) },
  "another beta": {
    has: "troupe hosted",
    own: { train: { ...train, ...trainers, clipNorm: 1, beta2: 0.9 } },
  },
  "an alpha of twice the rank": {
    has: "troupe",
    own: { ...clip(1), policies: { one: { model, adapter: { rank: 8, alpha: 16 } } } },
  },
  "a critic": { has: "troupe", own: clip(1), algorithm: "ppo" },
  "a ratio per sequence": { has: "troupe hosted skyrl-fsdp", own: clip(1), algorithm: "gspo" },
};

function problems(profile: string, own: Partial<RecipeInput>, name: string) {
  const engine = { type: "tinker" as const, url: "http://one:8000", profile: profile as "troupe" };
  const recipe = recipeSchema.parse({ ...alone, algorithm: { name: "grpo" }, ...own, engine });
  const configuredEngine = configureEngine("tinker", engineKinds.tinker, recipe.engine);
  const subject = { recipe, algorithm: algorithmFrom(name, {}), configuredEngine } as unknown as Subject;
  return [...engineSupport(subject), ...engineLimits(subject), ...lossSupport(subject)];
}

it.each(Object.entries(cases))("%s", (_, { has, own, algorithm = "grpo" }) => {
  const found = all.split(" ").map((profile) => ({ profile, found: problems(profile, own, algorithm) }));
  const lacking = found.filter((each) => each.found.length > 0);
  expect(all.split(" ").filter((one) => lacking.every(({ profile }) => profile !== one))).toEqual(
    has.split(" "),
  );
  for (const { fix } of lacking.flatMap((each) => each.found)) expect(fix).not.toBe("");
});

describe("a loss that the engine does not have", () => {
  const local = engineKinds.local.capabilities({});
  const poor = {
    critic: false,
    klInLoss: false,
    sequenceRatio: false,
    dualClip: false,
    entropyInLoss: false,
  };

  it.each<[string, object, Partial<EngineCapabilities>, RegExp]>([
    ["ppo", {}, poor, /^algorithm.name: ppo needs a critic, .*: rloo and grpo/],
    ["grpo", { kl: { where: "loss" } }, poor, /^algorithm.kl.where: .* KL in the loss; use `where: reward`$/],
    ["gspo", {}, poor, /^algorithm.name: .* ratio per sequence; use `name: grpo`/],
    ["rloo", { entropy: 0.01 }, poor, /^algorithm.entropy: .* support an entropy bonus, .*; remove it/],
    ["grpo", { dualClip: 3 }, poor, /^algorithm.dualClip: .*; remove it$/],
    ["rloo", {}, { losses: ["ppo"] }, /no loss `importance_sampling`; it has ppo$/],
  ])("%s %j is rejected, with what works", (name, options, lacks, message) => {
    const found = unsupported(algorithmFrom(name, { ...options }), { ...local, ...lacks });
    expect(shown(found)).toEqual([expect.stringMatching(message)]);
  });
});
