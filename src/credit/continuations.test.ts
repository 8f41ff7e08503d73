/** Alternatives to a trajectory (C3): which actions are compared, by hand. */
import { expect, it } from "vitest";
import type { Episode } from "../rollout/episode.ts";
import { algorithmFrom } from "./algorithms.ts";
import { credit } from "./credit.ts";
import { toData } from "./data.ts";
import { episodeFrom, type TreeSketch } from "./testing.ts";

const c3 = algorithmFrom("c3", { samples: 2 });

const said = (turn: number, sample: number) => ({
  role: "solver",
  turn,
  phase: 0,
  sample,
  frozen: false,
  team: 0,
  local: 0,
  logprobs: [-1, -1],
});

const node = (turn: number, sample: number, below: Partial<TreeSketch>): TreeSketch => ({
  actions: [said(turn, sample)],
  children: [],
  kept: true,
  ...below,
});

/** Two alternatives at first; the first is continued by two, with scores 1 and 0, the second once, with .25. */
const { episode } = episodeFrom(0, {
  children: [
    node(0, 0, { children: [node(1, 0, { score: 1 }), node(1, 1, { score: 0 })] }),
    node(0, 1, { children: [node(1, 0, { score: 0.25 })] }),
  ],
});

const shown = (one: Episode) =>
  Object.fromEntries(
    credit([one], c3).map((each) => [each.node.id, each.leftOut ?? Number(each.advantage.toFixed(12))]),
  );

it("compares what is sampled in the trajectory's states, and trains no continuation", () => {
  // .5 and .25; 1 and 0.
  expect(shown(episode)).toEqual({ "0": 0.25, "1": -0.25, "0.0": 1, "0.1": -1, "1.0": "continuation" });
  const data = toData(credit([episode], c3), c3).flatMap(({ continuations }) => continuations);
  // A token counts 1/8: four actions of two tokens are trained.
  expect(data.map(({ advantages }) => (advantages?.[0] ?? 0) * 8)).toEqual([0.25, -0.25, 1, -1]);
});

it("compares a reply after a call of a tool with the state in which the call was sampled", () => {
  const nodes = episode.nodes.map((one) => {
    if (one.id !== "1") return one;
    return { ...one, pending: { replies: {}, answered: { solver: [] } } as unknown as typeof one.pending };
  });
  const called = { ...episode, nodes } as Episode;
  expect(credit([called], c3).map(({ leftOut }) => leftOut)).toEqual(
    Array.from({ length: 5 }, () => undefined),
  );
});
