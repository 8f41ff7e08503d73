/** Properties of every row of a kind, for any rewards. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Episode } from "../../rollout/episode.ts";
import type { CreditedAction } from "../algorithm.ts";
import { algorithmFrom } from "../algorithms.ts";
import { credit } from "../credit.ts";
import { action, decision, distance, episodeFrom, trajectories, type TreeSketch } from "../testing.ts";

const meanBaselined = [
  "at-grpo",
  "grpo",
  "dr-grpo",
  "mas-grpo",
  "dr-mas",
  "gspo",
  "rloo",
  "magrpo",
  "marloo",
] as const;
const trees = new Set<string>(["at-grpo", "magrpo", "marloo", "maremax", "mareinforce"]);

/**
 * One decision, or trajectories of one action: each sample earns its reward, as team reward and as the episode's score.
 */
function creditOf(name: string, rewards: readonly number[], options: object = {}): number[] {
  const actions = rewards.map((team) => action({ team }));
  const lines = rewards.map((score, index) => ({ actions: actions.slice(index, index + 1), score }));
  const episode = trees.has(name) ? decision(0, actions) : trajectories(0, lines);
  return credit([episode], algorithmFrom(name, { ...options })).map(({ advantage }) => advantage);
}

const rewardLists = fc.array(
  fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
  { minLength: 2, maxLength: 10 },
);

/** Standardising divides by at least 1e-6, which can turn rounding errors of 1e-16 into 1e-10. */
const rounding = 1e-8;

const isEqual = (one: readonly number[] = [], other: readonly number[] = []): boolean =>
  distance(one, other) < rounding;

const signs = (values: readonly number[]) =>
  values.flatMap((one) => values.map((other) => Math.sign(one - other)));

describe.each(meanBaselined)("%s compares with the rest of the group:", (name) => {
  it("advantages sum to zero, and are ordered as the rewards", () => {
    fc.assert(
      fc.property(rewardLists, (rewards) => {
        const given = creditOf(name, rewards);
        expect(given.reduce((total, value) => total + value, 0)).toBeCloseTo(0, 8);
        expect(signs(given)).toEqual(signs(rewards));
      }),
    );
  });

  it("adding a constant to all rewards changes nothing", () => {
    fc.assert(
      fc.property(rewardLists, fc.integer({ min: -3, max: 3 }), (rewards, shift) => {
        const shifted = rewards.map((reward) => reward + shift);
        expect(isEqual(creditOf(name, shifted), creditOf(name, rewards))).toBe(true);
      }),
    );
  });

  it("permuting the samples permutes their advantages", () => {
    fc.assert(
      fc.property(rewardLists, fc.nat(), (rewards, by) => {
        const at = by % rewards.length;
        const rotate = <T>(items: readonly T[]): T[] => [...items.slice(at), ...items.slice(0, at)];
        expect(isEqual(creditOf(name, rotate(rewards)), rotate(creditOf(name, rewards)))).toBe(true);
      }),
    );
  });
});

/** Two roles act twice; only the end changes the score. */
const trajectory = (score: number) => ({
  actions: ["scout", "planner", "scout", "planner"].map((role, index) =>
    action({ role, turn: Math.floor(index / 2), team: score }),
  ),
  score,
});

/** Of whole trajectories. */
const creditOfTrajectories = (name: string, scores: readonly number[], options: object = {}) =>
  credit([trajectories(0, scores.map(trajectory))], algorithmFrom(name, { ...options })).map(
    ({ advantage }) => advantage,
  );

/** Two ways to the same advantages. */
type Pair = readonly [readonly number[], readonly number[]];

describe("rows in terms of each other", () => {
  it.each<[string, (rewards: readonly number[]) => Pair]>([
    [
      "MARLOO = MAGRPO · G / (G − 1)",
      (given) => [
        creditOf("marloo", given),
        creditOf("magrpo", given).map((value) => (value * given.length) / (given.length - 1)),
      ],
    ],
    [
      "MAGRPO with one role = GRPO without the scale",
      (given) => [creditOf("magrpo", given), creditOf("grpo", given, { standardise: false })],
    ],
    ["MAGRPO = Dr. GRPO", (given) => [creditOf("magrpo", given), creditOf("dr-grpo", given)]],
    ["MARLOO = RLOO", (given) => [creditOf("marloo", given), creditOf("rloo", given)]],
    [
      "cross with one role = aligned",
      (given) => [creditOf("magrpo", given, { joint: "cross" }), creditOf("magrpo", given)],
    ],
    [
      "in a one-turn tree the discount does not matter",
      (given) => [creditOf("magrpo", given, { discount: 0.5 }), creditOf("magrpo", given)],
    ],
    [
      "nor does the hand-over",
      (given) => [creditOf("magrpo", given, { handOver: "best" }), creditOf("magrpo", given)],
    ],
    [
      "a one-turn tree = a one-turn trajectory",
      (given) => [creditOf("at-grpo", given), creditOf("grpo", given)],
    ],
    ["without a baseline, too", (given) => [creditOf("mareinforce", given), creditOf("reinforce", given)]],
    [
      "MAGRPO of whole trajectories = Dr. GRPO in every turn, if only their ends change the score",
      (given) => [
        creditOfTrajectories("magrpo", given, { handOver: "each" }),
        creditOfTrajectories("dr-grpo", given),
      ],
    ],
    [
      "REINFORCE with the batch as baseline = MAGRPO if the batch is one group",
      (given) => [creditOf("reinforce", given, { baseline: "batch" }), creditOf("magrpo", given)],
    ],
  ])("%s", (_, both) => {
    fc.assert(
      fc.property(rewardLists, (rewards) => {
        expect(isEqual(...both(rewards))).toBe(true);
      }),
    );
  });

  it("MAReMax reinforces nothing, and does not change the best", () => {
    fc.assert(
      fc.property(rewardLists, (rewards) => {
        const given = creditOf("maremax", rewards);
        expect(Math.max(...given)).toBe(0);
        expect(given[rewards.indexOf(Math.max(...rewards))]).toBe(0);
      }),
    );
  });
});

describe("a policy's batch is whitened", () => {
  it("to mean 0 and variance 1, whatever the scale and shift of the rewards", () => {
    const options = { kl: { where: "none" } };
    fc.assert(
      fc.property(rewardLists, fc.double({ min: 0.1, max: 10, noNaN: true }), (rewards, scale) => {
        fc.pre(new Set(rewards).size > 1);
        const given = creditOf("reinforce-plus-plus", rewards, options);
        const squares = given.reduce((total, value) => total + value ** 2, 0);
        expect(given.reduce((total, value) => total + value, 0)).toBeCloseTo(0, 8);
        expect(squares / given.length).toBeCloseTo(1, 8);
        const other = rewards.map((reward) => 3 + scale * reward);
        expect(isEqual(creditOf("reinforce-plus-plus", other, options), given)).toBe(true);
      }),
    );
  });
});

/** Two simultaneous roles, two samples each, two turns; a number is the team reward of both roles. */
function joint(
  turn: number,
  [left, right]: readonly [number, number],
  [forLeft, forRight]: readonly [number, number],
  children: readonly TreeSketch[] = [],
): TreeSketch {
  const both = { turn, phase: 0, frozen: false, local: 0, logprobs: [-1, -1] };
  const actions = [
    { ...both, role: "left", sample: left, team: forLeft },
    { ...both, role: "right", sample: right, team: forRight },
  ];
  return { actions, children, kept: true, ...(children.length === 0 ? { score: 0 } : {}) };
}

/** The same with `right` frozen. */
const withFrozen = ({ actions = [], ...rest }: TreeSketch): TreeSketch => ({
  ...rest,
  actions: actions.map((one) => ({ ...one, frozen: one.role === "right" })),
});

const byPlace = (credited: readonly CreditedAction[]): Record<string, number> =>
  Object.fromEntries(
    credited.map(({ node, action: { role }, advantage }) => [`${node.id} ${role}`, advantage]),
  );

const weights = (episode: Episode, options: object) =>
  credit([episode], algorithmFrom("magrpo", { samples: 2, ...options })).map(
    ({ node, weight }) => [node.id, weight] as const,
  );

describe("MAGRPO's tree by hand", () => {
  const leaves = (first: number, second: number) => [
    joint(1, [0, 0], [first, first]),
    joint(1, [1, 1], [second, second]),
  ];
  const sketch = {
    children: [joint(0, [0, 0], [0, 1], leaves(1, 0.5)), joint(0, [1, 1], [0.25, 0.25], leaves(0, 0.5))],
  };
  const { episode } = episodeFrom(0, sketch);

  it("R = r + γ·mean(children), shared by the roles, minus the mean of the siblings", () => {
    // .5 + .8·.75 = 1.1 and .25 + .8·.25 = .45: mean .775
    const found = byPlace(
      credit([episode], algorithmFrom("magrpo", { reward: "action", discount: 0.8, samples: 2 })),
    );
    const expected = { "0": 0.325, "0.0": 0.25, "0.1": -0.25, "1": -0.325, "1.0": -0.25, "1.1": 0.25 };
    const places = ["0", "0.0", "0.1", "1", "1.0", "1.1"] as const;
    expect(Object.keys(found)).toEqual(places.flatMap((node) => [`${node} left`, `${node} right`]));
    for (const node of places)
      for (const role of ["left", "right"]) expect(found[`${node} ${role}`]).toBeCloseTo(expected[node], 14);
  });

  it("weighs a turn like the one before, which has half as many actions", () => {
    const whole = weights(episode, {});
    const expected = { "0": 1, "0.0": 1 / 2, "0.1": 1 / 2, "1": 1, "1.0": 1 / 2, "1.1": 1 / 2 };
    expect(Object.fromEntries(whole)).toEqual(expected);
    expect(new Set(weights(episode, { handOver: "best" }).map(([, weight]) => weight))).toEqual(new Set([1]));
  });

  it("excludes a frozen role's rewards from the joint reward", () => {
    const sketches = [joint(0, [0, 0], [0.25, 0.5]), joint(0, [1, 1], [0.75, 0])].map(withFrozen);
    const one = episodeFrom(0, { children: sketches }).episode;
    const found = byPlace(credit([one], algorithmFrom("magrpo", { reward: "action", samples: 2 })));
    expect(found).toEqual({ "0 left": -0.25, "0 right": 0, "1 left": 0.25, "1 right": 0 });
  });

  it("multiplies each turn's advantages by its factor", () => {
    const options = { turnWeights: [1.2, 0.8], handOver: "best", samples: 2 };
    const found = byPlace(credit([episode], algorithmFrom("magrpo", options)));
    expect(found["0 left"]).toBeCloseTo(1.2 * 0.125, 14);
    expect(found["0.0 left"]).toBeCloseTo(0.8 * 0.25, 14);
  });
});

describe("cross mode by hand", () => {
  // rewards by (left, right): 00 → 1, 01 → 0, 10 → .5, 11 → .5
  const sketch = {
    children: [
      joint(0, [0, 0], [1, 1]),
      joint(0, [0, 1], [0, 0]),
      joint(0, [1, 0], [0.5, 0.5]),
      joint(0, [1, 1], [0.5, 0.5]),
    ],
  };
  const credited = credit(
    [episodeFrom(0, sketch).episode],
    algorithmFrom("magrpo", { reward: "action", joint: "cross", samples: 2 }),
  );

  it("gives each of the 2 + 2 completions the mean over the joint actions that contain it", () => {
    const places = credited.map(({ node, action: { role, sample }, occurrences }) =>
      [role, sample, "at", node.id, "of", ...occurrences.map((one) => one.node.id)].join(" "),
    );
    expect(places).toEqual([
      "left 0 at 0 of 0 1",
      "right 0 at 0 of 0 2",
      "right 1 at 1 of 1 3",
      "left 1 at 2 of 2 3",
    ]);
    // left: .5 and .5; right: .75 and .25
    expect(credited.map((one) => one.return)).toEqual([0.5, 0.75, 0.25, 0.5]);
    expect(credited.map(({ advantage }) => advantage)).toEqual([0, 0.25, -0.25, 0]);
  });
});
