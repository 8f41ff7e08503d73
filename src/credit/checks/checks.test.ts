import { describe, expect, it } from "vitest";
import type { Algorithm, PlacedAction } from "../algorithm.ts";
import { algorithmFrom, algorithms } from "../algorithms.ts";
import { algorithmChecks } from "./checks.ts";

describe.each(Object.keys(algorithms))("%s", (name) => {
  it.each(algorithmChecks(algorithmFrom(name)))("$name", ({ run }) => {
    expect(run).not.toThrow();
  });
});

describe("options that change what is sampled or how credit is spread", () => {
  it.each([
    ["magrpo", { joint: "cross", samples: 2 }],
    ["magrpo", { handOver: "best", samples: 3 }],
    ["magrpo", { turnWeights: [1, 2, 3] }],
    ["ppo", { critic: "central", reward: "action" }],
    ["reinforce", { reward: "turns", discount: 0.5, baseline: "batch" }],
    ["mas-grpo", { reward: "rewards", shaping: "margin" }],
    ["grpo", { kl: { where: "reward", coefficient: 0.1 } }],
  ])("%s %j passes", (name, options) => {
    for (const { run } of algorithmChecks(algorithmFrom(name, options))) expect(run).not.toThrow();
  });
});

describe("an algorithm that is wrong fails", () => {
  const grpo = algorithmFrom("grpo", { samples: 4 });
  /** For returns of single actions. */
  const single = {
    ...grpo.grouping,
    sampleKey: ({ episode, action }: PlacedAction) => `${episode.id} ${action.id}`,
  };
  let calls = 0;
  const broken: Readonly<Record<string, readonly [Partial<Algorithm>, RegExp]>> = {
    "the baseline has one finite number per return": [{ baseline: () => [0] }, /have the baseline \[0\]/],
    "the scale is finite and positive": [
      { scale: (returns) => Math.max(...returns) - Math.min(...returns) },
      /\[0\] is 0/,
    ],
    "baseline and scale do not depend on the order of the returns": [
      { baseline: (returns) => returns.map(() => returns[0] ?? 0) },
      /give different baselines or scales/,
    ],
    "the same episodes give the same credit": [{ grouping: single, returns: () => calls++ }, /different/],
    "episodes are never changed": [
      { returns: ({ action }) => (action.tokens[0] = 9) },
      /was changed by credit/,
    ],
    "every token gets a finite advantage": [
      { returns: () => Number.NaN },
      /is NaN, although no reward is missing/,
    ],
    "the order of the episodes does not matter": [
      { grouping: { ...single, key: () => "all" }, baseline: (returns) => [...returns.keys()] },
      /when the episodes were reversed/,
    ],
    "equal rewards give the actions of a group equal advantages": [
      { returns: ({ node }) => Number(node.id[0]) },
      /actions with equal rewards got the advantages \[/,
    ],
    "a return made of a missing reward is missing": [
      { grouping: single, returns: ({ reward }) => reward?.team ?? 0 },
      /without a reward the return of an action is 0; with rewards of 0 and 1 it is 0 and 1/,
    ],
  };

  it.each(Object.entries(broken))("%s", (check, [change, message]) => {
    const found = algorithmChecks({ ...grpo, ...change }).find(({ name }) => name === check);
    expect(found?.run).toThrow(message);
  });

  it("has a case for every check", () => {
    expect(Object.keys(broken)).toEqual(algorithmChecks(grpo).map(({ name }) => name));
  });
});
