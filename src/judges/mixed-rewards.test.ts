import { describe, expect, it } from "vitest";
import type { Episode } from "../rollout/episode.ts";
import { edgesOf, nodeOf } from "../rollout/navigate.ts";
import { pair } from "../rollout/testing/numbers.ts";
import { judgeEpisode } from "./judge-episode.ts";
import type { Judge, JudgeUse } from "./judge.ts";
import { mixedRewards, outcomesOf } from "./rewards.ts";
import { talk, tenths } from "./testing/talk.ts";

const use: JudgeUse = { fills: "all", as: "team" };
const ownTeam = { ...pair, phases: [["first"]] };

/** First says 0 or 1, then again 0 or 1 after each: scores 0, 1/18, 1/18 and 1/9. */
const tree = { branch: { root: 2, inner: 2 }, keep: "all" } as const;

function rewardsOf(episode: Episode): Record<string, number | undefined> {
  return Object.fromEntries(episode.nodes.slice(1).map(({ id, actions }) => [id, actions[0]?.reward?.team]));
}

describe("the outcome of an action", () => {
  it("is the mean score of the ends that it led to", async () => {
    const outcomes = outcomesOf(await talk({ scheme: tree, team: ownTeam }));
    expect(Object.fromEntries(outcomes)).toEqual({
      "": 1 / 18,
      "0": 1 / 36,
      "0.0": 0,
      "0.1": 1 / 18,
      "1": (1 / 18 + 1 / 9) / 2,
      "1.0": 1 / 18,
      "1.1": 1 / 9,
    });
  });

  it("is mixed with the score by its weight, once the episode is over", async () => {
    const mixed = { ...use, outcomeWeight: 0.25 };
    const judge = (episode: Episode) => judgeEpisode(episode, tenths, mixed);
    for (const judgeMoment of ["action", "episode"] as const) {
      const episode = await talk({ scheme: tree, team: ownTeam, judge, judgeMoment });
      const rewards = rewardsOf(episode);
      expect(rewards["0"]).toBeCloseTo(0.25 * (1 / 36), 15);
      expect(rewards["1"]).toBeCloseTo(0.75 * 0.1 + 0.25 * (1 / 12), 15);
      expect(rewards["0.1"]).toBeCloseTo(0.75 * 0.1 + 0.25 * (1 / 18), 15);
      expect(mixedRewards(episode, mixed)).toEqual(episode);
    }
  });

  it("with weight 1 is the whole reward, with 0 none of it", async () => {
    const episode = await talk({ scheme: tree, team: ownTeam });
    const outcome = await judgeEpisode(episode, tenths, { ...use, outcomeWeight: 1, as: "local" });
    expect(nodeOf(outcome, "1.1").actions[0]?.reward).toEqual({
      team: 0,
      local: 1 / 9,
      parts: { judge: 1 / 9 },
    });
    const score = await judgeEpisode(episode, tenths, { ...use, outcomeWeight: 0 });
    expect(score).toEqual(await judgeEpisode(episode, tenths, use));
  });

  it("is missing if the episode did not continue from the action, and so is the reward", async () => {
    const scheme = { ...tree, keep: "first" } as const;
    const episode = await judgeEpisode(await talk({ scheme, team: ownTeam }), tenths, {
      ...use,
      outcomeWeight: 0.5,
    });
    expect(rewardsOf(episode)).toEqual({ "0": 0, "0.0": 0, "0.1": undefined, "1": undefined });
    expect(edgesOf(episode, nodeOf(episode, "1"))[0]?.reward).toBeNull();
  });

  it("does not replace a verdict that failed", async () => {
    const failing: Judge = { ...tenths, judge: async () => [] };
    const judged = await judgeEpisode(await talk(), failing, { ...use, outcomeWeight: 1 });
    expect(judged.nodes.flatMap(({ actions }) => actions).every(({ reward }) => reward === null)).toBe(true);
  });
});
