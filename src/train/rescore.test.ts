import { describe, expect, it } from "vitest";
import { algorithmFrom } from "../credit/algorithms.ts";
import { credit } from "../credit/credit.ts";
import { action, decision, trajectories } from "../credit/testing.ts";
import type { Judge } from "../judges/judge.ts";
import type { Episode } from "../rollout/episode.ts";
import { rescore } from "./rescore.ts";

const earned = [action({ team: 0.25 }), action({ team: 1 }), action({ team: 0 })];
const compared = decision(0, earned);

/** Which sample was continued. */
function cut(episode: Episode): Episode {
  return {
    ...episode,
    nodes: episode.nodes.map((node) => ({ ...node, kept: node.id === "" || node.id === "0" })),
  };
}

/** Scores the first sample of a role 1, the second 0, and fails on the third. */
const judge: Judge = {
  judge: async (_, asked) =>
    asked.map(({ node, action: { id, sample } }) => {
      const verdict = sample === 2 ? { failure: "no idea" } : { score: 1 - sample };
      return { node: node.id, action: id, verdict };
    }),
  settle: async () => {},
  close: async () => {},
};

const returns = (credited: Awaited<ReturnType<typeof rescore>>) => credited.map((one) => one.return);

describe("rescore", () => {
  it("credits as training does, also with another algorithm", async () => {
    for (const name of ["at-grpo", "marloo"]) {
      const algorithm = algorithmFrom(name);
      expect(await rescore([compared], { algorithm })).toEqual(credit([compared], algorithm));
    }
  });

  it("takes rewards from a judge; a failed verdict leaves none", async () => {
    const algorithm = algorithmFrom("at-grpo");
    const all = { judge, use: { fills: "all", as: "team" } } as const;
    expect(returns(await rescore([compared], { algorithm, judge: all }))).toEqual([1, 0, null]);
    const missing = { judge, use: { fills: "missing", as: "team" } } as const;
    const some = decision(0, [...earned.slice(0, 1), action({ reward: null }), action({ team: 0.5 })]);
    expect(returns(await rescore([some], { algorithm, judge: missing }))).toEqual([0.25, 0, 0.5]);
  });

  it("uses all scores of the step to normalise them", async () => {
    const algorithm = algorithmFrom("at-grpo");
    const use = { fills: "all", as: "team", normalise: "role" } as const;
    const seen: (readonly Episode[])[] = [];
    const normalised = async (episodes: readonly Episode[]) => {
      seen.push(episodes);
      return episodes.map(() => compared);
    };
    const found = await rescore([compared, compared], { algorithm, judge: { judge, use, normalised } });
    expect(found).toEqual(credit([compared, compared], algorithm));
    expect(seen).toHaveLength(1);
    expect(seen[0]?.map(({ nodes }) => nodes[1]?.actions[0]?.verdict)).toEqual([{ score: 1 }, { score: 1 }]);
  });

  it("asks the judge again if a verdict was recorded", async () => {
    const algorithm = algorithmFrom("at-grpo");
    const nodes = compared.nodes.map((node) => ({
      ...node,
      actions: node.actions.map(({ action: id }) => ({
        action: id,
        reward: null,
        verdict: { failure: "then" },
      })),
    }));
    const missing = { judge, use: { fills: "missing", as: "team" } } as const;
    expect(returns(await rescore([{ ...compared, nodes }], { algorithm }))).toEqual([null, null, null]);
    expect(returns(await rescore([{ ...compared, nodes }], { algorithm, judge: missing }))).toEqual([
      1,
      0,
      null,
    ]);
  });

  it.each([
    ["ppo", {}, /needs the values of a critic, which a run's folder does not keep/],
    [
      "grpo",
      { kl: { where: "reward" } },
      /log-probabilities, which a run's folder does not keep; rescore it without KL, kl.where=none/,
    ],
    ["grpo", {}, /grpo compares whole trajectories, and the episode train\/0\/0 continued from only one/],
    ["magrpo", {}, /magrpo compares whole trajectories/],
  ])("reports what %s %j lacks", async (name, options, message) => {
    const rescoring = rescore([cut(compared)], { algorithm: algorithmFrom(name, { ...options }) });
    await expect(rescoring).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(message),
    });
  });

  it("compares whole trajectories if they were recorded", async () => {
    const lines = [0, 1].map((score) => ({ actions: [action(), action({ turn: 1 })], score }));
    const credited = await rescore([trajectories(0, lines)], { algorithm: algorithmFrom("rloo") });
    expect(credited.map(({ advantage }) => advantage)).toEqual([-1, -1, 1, 1]);
  });
});
