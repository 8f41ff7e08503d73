/** Trees of samples whose credit was computed by hand: one role after the other (AT-GRPO), and simultaneous roles. */
import { describe, expect, it } from "vitest";
import type { CreditedAction } from "../src/credit/algorithm.ts";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { credit } from "../src/credit/credit.ts";
import { rootKey } from "../src/random.ts";
import type { SamplingScheme } from "../src/rollout/episode.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { numbersPolicy, pair, settingFor } from "../src/rollout/testing/numbers.ts";
import { type Script, scriptedEngine } from "../src/rollout/testing/scripted-engine.ts";
import { type Tree, type TreeNode, treeOf } from "../src/rollout/testing/tree.ts";

const policy = numbersPolicy();

const advantages = (credited: readonly CreditedAction[]): number[] =>
  credited.map(({ advantage }) => advantage);

/** What first and second say, by sample, in each of two turns; 9 ends the episode. */
const table: Readonly<Record<string, readonly string[]>> = {
  "say first": ["1", "4", "2"],
  "say second 4": ["3", "3", "8"],
  "say first 4 8": ["5", "5", "5"],
  "say second 4 8 5": ["9", "1", "9"],
};

const byTable: Script = (_, index, prompt) => table[prompt.replace(/^you are \w+ /, "")]?.[index] ?? "0";

describe("AT-GRPO on a tree computed by hand: two roles, two turns, K = 3", () => {
  const algorithm = algorithmFrom("at-grpo", { samples: 3 });
  const grown = growEpisode(
    settingFor(policy, {
      engine: scriptedEngine(policy.tokenizer, byTable),
      scheme: algorithm.sampling,
      score: algorithm.score,
    }),
    rootKey(1),
    { task: {}, path: ["train", 0, 0] },
  );

  it("groups the K actions of a role in a turn, including siblings that were not kept", async () => {
    const groups = Map.groupBy(credit([await grown], algorithm), ({ group }) => group);
    const seen = [...groups.values()].map((members) =>
      members.map((one) => [one.action.role, one.action.turn, one.action.reply.text]),
    );
    expect(seen).toEqual([
      [
        ["first", 0, "1"],
        ["first", 0, "4"],
        ["first", 0, "2"],
      ],
      [
        ["second", 0, "3"],
        ["second", 0, "3"],
        ["second", 0, "8"],
      ],
      [
        ["first", 1, "5"],
        ["first", 1, "5"],
        ["first", 1, "5"],
      ],
      [
        ["second", 1, "9"],
        ["second", 1, "1"],
        ["second", 1, "9"],
      ],
    ]);
  });

  it("gives (R − mean) / (std + 1e-6), R = team + local", async () => {
    const credited = credit([await grown], algorithm);
    const groups = [...Map.groupBy(credited, ({ group }) => group).values()];
    const expected = [
      // 0.1, 1.4, 1.2: mean 0.9, squares .64 + .25 + .09 = .98, std √.49 = .7
      [-0.8 / 0.700001, 0.5 / 0.700001, 0.3 / 0.700001],
      // 0.3, 0.3, 1.8: mean 0.8, squares .25 + .25 + 1 = 1.5, std √.75
      [-0.5 / (Math.sqrt(0.75) + 1e-6), -0.5 / (Math.sqrt(0.75) + 1e-6), 1 / (Math.sqrt(0.75) + 1e-6)],
      // no variance, no credit
      [0, 0, 0],
      // 0.9, 0.1, 0.9: mean 1.9/3, deviations .8/3, −1.6/3, .8/3, squares 3.84/9, std √(1.92/9)
      [0.8, -1.6, 0.8].map((third) => third / 3 / (Math.sqrt(1.92 / 9) + 1e-6)),
    ];
    expected.flat().forEach((value, index) => {
      expect(groups.flatMap(advantages)[index]).toBeCloseTo(value, 12);
    });
  });

  it("weights the team's reward with alpha, in the credit and in the choice", async () => {
    const doubled = algorithmFrom("at-grpo", { samples: 3, alpha: 2 });
    const returns = credit([await grown], doubled)
      .slice(0, 3)
      .map((one) => one.return);
    expect(returns[0]).toBeCloseTo(0.2, 12);
    expect(doubled.score({ team: 0.4, local: 1, parts: {} })).toBeCloseTo(1.8, 12);
  });

  it("without standardising, gives R − mean", async () => {
    const plain = credit([await grown], algorithmFrom("at-grpo", { samples: 3, standardise: false }));
    const first = plain.filter((one) => one.action.role === "first" && one.action.turn === 0);
    [-0.8, 0.5, 0.3].forEach((value, index) => {
      expect(first[index]?.advantage).toBeCloseTo(value, 12);
    });
  });
});

const atOnce = { ...pair, phases: [["first", "second"]] };

/** first says 1, 2, …; second 3, 4, … */
const counting: Script = (_, index, prompt) => `${index + (prompt.includes("first") ? 1 : 3)}`;

/** Of two pairs, 1 with 1 and 9 with 4, the better one also ends the episode in the environment. */
const solving: Script = (_, index, prompt) => (index === 0 ? "1" : prompt.includes("first") ? "9" : "4");

function growJoint(scheme: SamplingScheme, changes: Partial<typeof pair> = {}, script = counting) {
  const engine = scriptedEngine(policy.tokenizer, script);
  const team = { ...atOnce, ...changes };
  const setting = settingFor(policy, { engine, team, scheme, score: ({ team: earned }) => earned });
  return {
    engine,
    growing: growEpisode(setting, rootKey(1), { task: {}, path: ["train", 0, 0] }),
  };
}

const said = (node: TreeNode): string => node.actions.map(({ text }) => text).join("+");
const children = ({ root }: Tree): string[] => root.children.map(said);

describe("cross mode", () => {
  const cross = { branch: { root: 2, inner: 2 }, keep: "all", joint: "cross" } as const;

  it("plays each sample of one role with each of the other, and samples G per role", async () => {
    const { engine, growing } = growJoint(cross, { turns: 1 });
    const episode = treeOf(await growing);
    expect(children(episode)).toEqual(["1+3", "1+4", "2+3", "2+4"]);
    expect(engine.requests.map(({ count }) => count)).toEqual([2, 2]);
    expect(episode.root.children.map(({ actions }) => actions.map(({ sample }) => sample))).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
    expect(episode.ends.map(({ node }) => node.id)).toEqual(["0", "1", "2", "3"]);
  });

  it("grows G^N joint actions from each of them in the next turn, and credits 2G completions per state", async () => {
    const { growing } = growJoint(cross);
    const episode = await growing;
    expect(episode.ends).toHaveLength(16);
    expect(credit([episode], algorithmFrom("magrpo", { joint: "cross", samples: 2 }))).toHaveLength(
      4 + 4 * 4,
    );
  });

  it("with one role is aligned", async () => {
    const [crossed, aligned] = await Promise.all(
      [cross, { branch: cross.branch, keep: cross.keep }].map((scheme) => growJoint(scheme, pair).growing),
    );
    expect(crossed).toEqual(aligned);
  });

  it("hands over the best pair", async () => {
    const { growing } = growJoint({ ...cross, keep: "best" });
    const { root } = treeOf(await growing);
    expect(root.children.map(({ kept }) => kept)).toEqual([false, false, false, true]);
  });
});

describe("stopAbove", () => {
  const scheme = { branch: { root: 2, inner: 2 }, keep: "all" } as const;

  // 1+3 and 2+4 earn .2 and .3 as means of their roles: .25 on average
  it.each([
    [0.24, 2],
    [0.26, 4],
  ])("%d: %d ends", async (stopAbove, count) => {
    const { ends, root } = treeOf(await growJoint({ ...scheme, stopAbove }).growing);
    expect(ends).toHaveLength(count);
    expect(root.children.every(({ kept, done }) => kept && done === (count === 2))).toBe(true);
  });

  it.each([
    ["a turn that it ended early", { turns: 2 }, "all", 2],
    ["all its samples, if one was continued", { turns: 2 }, "best", 2],
    ["nothing in a turn that was the last anyway", { turns: 1 }, "all", 1],
  ] as const)("earlyEndWeight weights %s", async (_, changes, handOver, weight) => {
    const given = { samples: 2, handOver, terminationThreshold: 0.24 };
    const weighed = algorithmFrom("magrpo", { ...given, earlyEndWeight: 2 });
    const episode = await growJoint(weighed.sampling, changes).growing;
    const plain = credit([episode], algorithmFrom("magrpo", given)).map(({ advantage }) => advantage);
    expect(plain).toHaveLength(4);
    expect(plain).not.toContain(0);
    const found = credit([episode], weighed).map(({ advantage }) => advantage);
    expect(found).toEqual(plain.map((advantage) => weight * advantage));
  });

  it.each(["best", "all"] as const)(
    "earlyEndWeight also weights all samples if the environment ended the kept one (%s)",
    async (handOver) => {
      const given = { samples: 2, handOver, terminationThreshold: 0.24 };
      const weighed = algorithmFrom("magrpo", { ...given, earlyEndWeight: 2 });
      const episode = await growJoint(weighed.sampling, { turns: 2 }, solving).growing;
      expect(episode.ends.every(({ turns }) => turns === 1)).toBe(true);
      expect(episode.ends.at(-1)?.outcome.success).toBe(true);
      const plain = credit([episode], algorithmFrom("magrpo", given)).map(({ advantage }) => advantage);
      expect(plain).toHaveLength(4);
      expect(plain).not.toContain(0);
      const found = credit([episode], weighed).map(({ advantage }) => advantage);
      expect(found).toEqual(plain.map((advantage) => 2 * advantage));
    },
  );

  it("applies at the end of a turn, not between its phases", async () => {
    const { ends } = await growJoint({ ...scheme, stopAbove: 0 }, { phases: pair.phases }).growing;
    expect(ends.map(({ node, turns }) => [node, turns])).toEqual([
      ["0.0", 1],
      ["0.1", 1],
      ["1.0", 1],
      ["1.1", 1],
    ]);
  });
});
