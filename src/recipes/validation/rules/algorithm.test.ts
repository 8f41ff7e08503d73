import { describe, expect, it } from "vitest";
import type { AlgorithmRow } from "../../../credit/algorithm.ts";
import { algorithmFrom, algorithms } from "../../../credit/algorithms.ts";
import { shown } from "../../fixtures/catalog.ts";
import type { Subject } from "../rule.ts";
import { algorithmProblems, klOptions, type MeasuredShape } from "./algorithm.ts";

const oneByOne: MeasuredShape = { phases: [["scout"], ["planner"]], turns: 2, maxTokens: [16, 24] };
const atOnce: MeasuredShape = { ...oneByOne, phases: [["scout", "planner"]] };
const alone: MeasuredShape = { ...oneByOne, phases: [["planner"]] };

const overlong = (length: number, buffer: number) => ({ overlong: { length, buffer } });
const wide = { samples: 65, joint: "cross", handOver: "best" } as const;

const problems = (name: string, options: object, team = oneByOne): string[] =>
  shown(algorithmProblems(algorithmFrom(name, { ...options }), team));

describe("algorithmProblems", () => {
  it.each([
    ["at-grpo", {}, oneByOne],
    ["magrpo", { samples: 4 }, oneByOne],
    ["magrpo", { samples: 4, joint: "cross" }, atOnce],
    ["reinforce", { samples: 1 }, oneByOne],
    ["reinforce", { samples: 1, baseline: "batch" }, oneByOne],
    ["ppo", { samples: 1 }, oneByOne],
    ["magrpo", { handOver: "best" }, { ...oneByOne, turns: 50 }],
    ["maac", {}, atOnce],
    ["maac", {}, oneByOne],
    ["iac", {}, alone],
    ["ppo", { critic: "central" }, oneByOne],
    ["grpo", overlong(20, 4), oneByOne],
  ] as const)("accepts %s %j", (name, options, team) => {
    expect(problems(name, options, team)).toEqual([]);
  });

  const fourTurns = { ...oneByOne, turns: 4 };
  it.each([
    ["magrpo", { samples: 2, joint: "cross" }, oneByOne, "joint: .* no phase has two roles; use `joint: al"],
    ["maac", {}, alone, "name: .* the team has one role; use `iac`"],
    ["magrpo", { turnWeights: [1.2, 0.8] }, { ...atOnce, turns: 3 }, "turnWeights: 2 .* 3 turns; give 3 num"],
    ["magrpo", { samples: 2, turnWeights: [0, 0] }, atOnce, "turnWeights: .* no turn trains anything; "],
    ["magrpo", { samples: 8 }, fourTurns, "samples: .* at most 2 samples, `handOver: best` or"],
    ["magrpo", wide, { ...atOnce, turns: 1 }, "samples: with 65 .* at most 64 samples, or `joint: aligned`"],
    ["c3", { samples: 8, continued: "tree" }, fourTurns, "samples: .* 2 samples, `continued: once`"],
    ["mas-grpo", { samples: 4, downSample: 4 }, oneByOne, "downSample: it keeps 4 .* at most 4; use fewer"],
    [
      "at-grpo",
      { samples: 1e12 },
      oneByOne,
      "samples: with 1000000000000 .*4096 .* at most 1024 samples, or",
    ],
    ["mareinforce", { samples: 1, dynamicSampling: true }, oneByOne, "dynamicSampling: .* compares: magrpo"],
    ["grpo", overlong(4, 8), oneByOne, "overlong.buffer: .* 8 .* `length`, 4; use at most 4"],
    ["grpo", overlong(100, 20), oneByOne, "overlong: .* above 80 .* 24; use .* at most 24"],
  ] as const)("rejects %s %j", (name, options, team, message) => {
    const found = problems(name, options, team);
    expect(found).toEqual([expect.stringMatching(`^algorithm\\.${message}`)]);
  });

  it("rejects a number of turns that is too large", () => {
    const found = problems("at-grpo", { samples: 8 }, { ...oneByOne, turns: 4096 });
    expect(found).toEqual([expect.stringMatching(/^team\.turns: with 4096 turns .* more than 4096/)]);
  });

  it("rejects a group of one if the group is the baseline", () => {
    const single = {
      ...algorithmFrom("at-grpo"),
      sampling: { branch: { root: 1, inner: 1 }, keep: "best" },
    } as const;
    expect(algorithmProblems(single, oneByOne)[0]?.fix).toBe("sample at least 2 actions per group");
  });
});

function algorithmNamed(name: string): AlgorithmRow {
  const row = algorithms[name];
  if (row === undefined) throw new Error(`no row ${name}`);
  return row;
}

/** The rule's message about `kl` in a recipe with the algorithm. */
function klProblems(name: string, kl: object): string[] {
  const row = algorithmNamed(name);
  const algorithm = { name, ...row.options.parse({ kl }) };
  const subject = { recipe: { algorithm }, row } as unknown as Subject;
  return shown(klOptions(subject));
}

describe("klOptions", () => {
  it.each([
    [
      "grpo",
      { coefficient: 0.04 },
      /coefficient: .* KL is not computed; add `where: reward` or `where: loss`/,
    ],
    [
      "grpo",
      { where: "loss", horizon: 100 },
      /horizon: .* without a `target`, β is constant; add a `target`/,
    ],
    // By default.
    [
      "ppo",
      { where: "loss" },
      /estimator: .* k1 does not depend on the reference; use k2 or k3, or `where: reward`/,
    ],
    ["grpo", { where: "reward", coefficient: 0, target: 0.1 }, /coefficient: .* it stays 0; use more than 0/],
    [
      "rloo",
      { where: "reward", coefficient: 0, estimator: "k1" },
      /estimator: .* off with coefficient 0; use/,
    ],
  ])("rejects for %s: %j", (name, kl, message) => {
    expect(klProblems(name, kl)).toEqual([expect.stringMatching(message)]);
    expect(klProblems(name, kl)[0]).toMatch(/^algorithm\.kl\./);
  });

  it.each(Object.keys(algorithms))("accepts the defaults of %s, written out or not", (name) => {
    const { kl } = algorithmNamed(name).options.parse({}) as { kl: object };
    expect(klProblems(name, {})).toEqual([]);
    expect(klProblems(name, kl)).toEqual([]);
  });

  it("accepts a KL that is on", () => {
    expect(klProblems("grpo", { where: "loss", coefficient: 0.04, target: 0.1, horizon: 100 })).toEqual([]);
    expect(klProblems("ppo", { where: "reward", estimator: "k3" })).toEqual([]);
  });
});
