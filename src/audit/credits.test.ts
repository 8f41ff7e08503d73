/** What an audit takes for the credit of a candidate. */
import { expect, it } from "vitest";
import { algorithmFrom } from "../credit/algorithms.ts";
import type { Algorithm } from "../credit/algorithm.ts";
import { credit } from "../credit/credit.ts";
import { action, alternatives, trajectories } from "../credit/testing.ts";
import type { Episode } from "../rollout/episode.ts";
import type { StoredEpisode } from "../rollout/stored.ts";
import { creditsOf } from "./credits.ts";

/** As the run that samples with the algorithm records it. */
function recorded(episode: Episode, algorithm: Algorithm): StoredEpisode {
  const { id } = episode;
  const entry = { schema_version: 1, id, step: 1, success: 0, score: 0 } as const;
  return {
    entry: { ...entry, episode: [0, 0], prompts: [0, 0] },
    episode,
    credit: credit([episode], algorithm).map(({ action: one, group, advantage, leftOut, ...rest }) => {
      const why = leftOut === undefined ? {} : { leftOut };
      return { action: one.id, group, return: rest.return, advantage, ...why };
    }),
    promptText: () => "",
  };
}

async function creditsIn(episode: Episode, own: Algorithm) {
  const { credits, omitted } = await creditsOf([recorded(episode, own)], own, undefined);
  const given = credits.map(
    ({ name, of }) => [name, episode.actions.map((one) => of(episode, one))] as const,
  );
  return { given: new Map(given), omitted };
}

it("takes no credit from samples that a group leaves out", async () => {
  const lines = [0, 1, 0.5].map((score) => ({ actions: [action()], score }));
  const own = algorithmFrom("dr-grpo", { samples: 3, downSample: 2 });
  const { given } = await creditsIn(trajectories(0, lines), own);
  expect(given.get("dr-grpo, as recorded")).toEqual([-0.5, 0.5, null]);
  expect(given.get("rloo")).toEqual([-0.75, 0.75, 0]);
});

it("takes no credit from actions that continue an alternative", async () => {
  const { given } = await creditsIn(alternatives(0, [[0, 1], [0]]), algorithmFrom("c3", { samples: 2 }));
  expect(given.get("c3, as recorded")).toEqual([0.5, -1, 1, -0.5, null]);
});

it("takes every continuation of a tree for c3, whose own are of one trajectory's states", async () => {
  const episode = alternatives(
    0,
    [1, 2].map(() => [0, 1]),
  );
  const { given } = await creditsIn(episode, algorithmFrom("magrpo", { samples: 2 }));
  // Both first actions are worth ½; of those that follow each, one is better than the other by 1.
  expect(given.get("c3")).toEqual([0, -1, 1, 0, -1, 1]);
});

it("says why an algorithm has no credits", async () => {
  const lines = [0, 1].map((score) => ({ actions: [action()], score }));
  const { given, omitted } = await creditsIn(trajectories(0, lines), algorithmFrom("magrpo", { samples: 2 }));
  expect([...given.keys()]).not.toContain("ppo");
  expect(omitted.find(({ name }) => name === "ppo")?.reason).toMatch(/critic|values/);
});
