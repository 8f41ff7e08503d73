import { expect, it } from "vitest";
import type { ActionCredit } from "../rollout/stored.ts";
import { reasonsDropped } from "./dropped.ts";

const credit: readonly ActionCredit[] = [
  { action: "flat 1", group: "a", return: 1, advantage: 0, untrained: "no-advantage" },
  { action: "flat 2", group: "a", return: 1, advantage: 0, untrained: "no-advantage" },
  { action: "mean", group: "b", return: 0.5, advantage: 0, untrained: "no-advantage" },
  { action: "best", group: "b", return: 1, advantage: 0.5 },
  { action: "alone", group: "c", return: 0, advantage: 0, untrained: "no-advantage" },
  // As with an entropy in the loss, which has a gradient where all earned the same.
  { action: "entropy 1", group: "d", return: 1, advantage: 0 },
  { action: "entropy 2", group: "d", return: 1, advantage: 0 },
  { action: "lost", group: "d", return: null, advantage: 0 },
  { action: "cut", group: "b", return: 1, advantage: 0.5, untrained: "truncated" },
  { action: "left", group: "b", return: 1, advantage: 0, leftOut: "down-sampled" },
];

it("says why an action trained nothing, and of one that trained nothing", () => {
  const actions = [...credit.map(({ action }) => action), "frozen", "masked", "unknown"].map((id) => ({
    id,
    frozen: id === "frozen",
    masked: id === "masked" ? "the program edited it" : undefined,
  }));
  expect(Object.fromEntries(reasonsDropped({ episode: { actions }, credit }))).toEqual({
    "flat 1": "every action of its group here had the same return",
    "flat 2": "every action of its group here had the same return",
    mean: "its advantage is 0",
    alone: "its advantage is 0",
    lost: "a reward that it depends on is missing",
    cut: "it reached the limit of tokens, which the algorithm leaves out",
    left: "down-sampling kept other samples of its group",
    masked: "the program edited it",
    unknown: "a reward that it depends on is missing",
  });
  expect(reasonsDropped({ episode: { actions } }).size).toBe(0);
});
