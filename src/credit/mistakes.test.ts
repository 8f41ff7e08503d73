import { describe, expect, it } from "vitest";
import type { EngineCapabilities } from "../engines/engine.ts";
import { engineTypes } from "../engines/open.ts";
import { algorithmFrom } from "./algorithms.ts";
import { algorithmMistakes, type TeamShape } from "./mistakes.ts";

const oneByOne: TeamShape = { phases: [["scout"], ["planner"]], turns: 2, maxTokens: [16, 24] };
const atOnce: TeamShape = { ...oneByOne, phases: [["scout", "planner"]] };
const alone: TeamShape = { ...oneByOne, phases: [["planner"]] };

const mistakes = (name: string, options: object, team = oneByOne, engine?: EngineCapabilities): string[] =>
  algorithmMistakes(algorithmFrom(name, { ...options }), team, engine).map(
    ({ path, problem, fix }) => `${path.join(".")}: ${problem}; ${fix}`,
  );

describe("algorithmMistakes", () => {
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
    ["grpo", { overlong: { length: 20, buffer: 4 } }, oneByOne],
  ] as const)("accepts %s %j", (name, options, team) => {
    expect(mistakes(name, options, team)).toEqual([]);
  });

  it.each([
    [
      "magrpo",
      { samples: 2, joint: "cross" },
      oneByOne,
      "algorithm.joint: cross mode pairs the samples of roles that act at once, and no phase has two roles; use `joint: aligned`, which is the same for one role, or put the roles into one phase",
    ],
    [
      "maac",
      {},
      alone,
      "algorithm.name: the critic of maac is for the prompts of several roles, and the team has one role; use `iac`, whose critic sees the role's prompt",
    ],
    [
      "magrpo",
      { turnWeights: [1.2, 0.8] },
      { ...atOnce, turns: 3 },
      "algorithm.turnWeights: 2 turn weights for a team of 3 turns; give 3 numbers, one per turn",
    ],
    [
      "magrpo",
      { samples: 2, turnWeights: [0, 0] },
      atOnce,
      "algorithm.turnWeights: with these weights no turn trains anything; give one of them above 0",
    ],
    [
      "magrpo",
      { samples: 8 },
      { ...oneByOne, turns: 4 },
      "algorithm.samples: with 8 samples an episode could be a tree of more than 4096 joint actions; use at most 2 samples, `handOver: best` or fewer turns",
    ],
    [
      "magrpo",
      { samples: 65, joint: "cross", handOver: "best" },
      { ...atOnce, turns: 1 },
      "algorithm.samples: with 65 samples an episode could be a tree of more than 4096 joint actions; use at most 64 samples, or `joint: aligned`",
    ],
    [
      "mareinforce",
      { samples: 1, dynamicSampling: true },
      oneByOne,
      "algorithm.dynamicSampling: mareinforce has no baseline, so a task whose returns are all the same teaches, too; remove it, or take a row that compares: magrpo",
    ],
    [
      "grpo",
      { overlong: { length: 100, buffer: 20 } },
      oneByOne,
      "algorithm.overlong: the penalty begins above 80 tokens, and no role writes more than 24; a length of at most 24",
    ],
  ] as const)("refuses %s %j", (name, options, team, message) => {
    const found = mistakes(name, options, team);
    expect(found).toHaveLength(1);
    expect(found[0]).toBe(message);
  });

  it("refuses what the engine cannot do, and names what it can", () => {
    const poor = {
      ...engineTypes.local,
      critic: false,
      klInLoss: false,
      sequenceRatio: false,
      dualClip: false,
    };
    expect(mistakes("ppo", {}, oneByOne, poor)[0]).toMatch(/^algorithm.name: ppo needs a critic/);
    expect(mistakes("grpo", { kl: { where: "loss" } }, oneByOne, poor)[0]).toMatch(/use `where: reward`$/);
    expect(mistakes("gspo", {}, oneByOne, poor)[0]).toMatch(/use `name: grpo`/);
    expect(mistakes("grpo", { dualClip: 3 }, oneByOne, poor)[0]).toMatch(/^algorithm.dualClip/);
    const noLoss = { ...engineTypes.local, losses: ["ppo"] as const };
    expect(mistakes("rloo", {}, oneByOne, noLoss)[0]).toMatch(/no loss `importance_sampling`; it has ppo$/);
  });

  it("refuses a group of one where the group is the baseline", () => {
    const single = {
      ...algorithmFrom("at-grpo"),
      sampling: { branch: { root: 1, inner: 1 }, keep: "best" },
    } as const;
    expect(algorithmMistakes(single, oneByOne)[0]?.fix).toBe("sample at least 2 actions per group");
  });
});
