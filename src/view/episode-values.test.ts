/** What the page shows of an episode: candidates and their colours, trajectories, titles, whom a person plays, what trained nothing. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import {
  candidatesIn,
  choiceOf,
  colourOf,
  gridOf,
  largestAdvantage,
  nameOf,
  neighbour,
  siblingsOf,
} from "./page/candidates.ts";
import { handMadeView, writeHandMade } from "./testing/hand-made.ts";
import { pathTo, saidAfter } from "./page/trajectory.ts";
import { stateName, titleOf } from "./page/titles.ts";
import { temporaryFolder } from "../models/test-model.ts";
import { ViewedRun } from "./run.ts";
import type { ActionCredit } from "../rollout/stored.ts";
import { reasonsDropped } from "./dropped.ts";

const rows = gridOf(handMadeView());

it("has a row for each turn, a cell for each role, and in it the candidates from each state", () => {
  type Shown = ReturnType<typeof candidatesIn>[number];
  const figuresOf = ({ action, edge, isChosen }: Shown) => [
    action.sample,
    edge?.team,
    edge?.local,
    edge?.judge,
    isChosen,
  ];
  const shown = rows.map(({ turn, cells: found }) => [
    turn,
    found.map(({ role, siblings }) => [
      role,
      siblings.map(({ parent, candidates }) => [parent, candidates.map(figuresOf)]),
    ]),
  ]);
  const planner = [
    [0, 0.25, 0.125, 0.4, false],
    [1, 0.75, 0.5, 0.9, true],
    [2, null, null, null, false],
  ];
  const runner = [
    [0, 0.875, 0.0625, null, true],
    [1, 0.3, 0.7, null, false],
  ];
  const cells = [
    ["planner", [["", planner]]],
    ["runner", [["1", runner]]],
  ];
  expect(shown).toEqual([[0, cells]]);
});

it("a candidate of several joint actions has what it earned in the one that continued", () => {
  const view = handMadeView();
  const [edge] = view.nodes[2]?.actions ?? [];
  const other = { ...view.nodes[1], id: "9", parent: "", kept: false, actions: [{ ...edge, team: 0.01 }] };
  const crossed = { ...view, nodes: [other, ...view.nodes] } as typeof view;
  const [, found] = candidatesIn(gridOf(crossed));
  expect([found?.action.id, found?.joint, found?.edge?.team, found?.isChosen]).toEqual([
    "/planner/1",
    2,
    0.75,
    true,
  ]);
});

it("colours what is reinforced and what is not, stronger for a larger advantage", () => {
  const largest = largestAdvantage(candidatesIn(rows));
  expect(largest).toBe(1.5);
  expect([1.5, 0.3, -0.75, 0, null].map((advantage) => colourOf(advantage, largest))).toEqual([
    { "--tint": "var(--plus)", "--share": "50%" },
    { "--tint": "var(--plus)", "--share": "16%" },
    { "--tint": "var(--minus)", "--share": "29%" },
    {},
    {},
  ]);
  expect(colourOf(1, 0)).toEqual({});
});

it("knows a candidate's neighbours, siblings and name", () => {
  const from = (id: string) =>
    (["up", "down", "left", "right"] as const).map((direction) => neighbour(rows, id, direction)?.action.id);
  expect(from("/planner/1")).toEqual(["/planner/0", "/planner/2", undefined, "1/runner/1"]);
  expect(from("1/runner/0")).toEqual([undefined, "1/runner/1", "/planner/0", undefined]);
  expect(siblingsOf(rows, "/planner/1").map(({ action }) => action.id)).toEqual(["/planner/0", "/planner/2"]);
  const names = ["planner 1", "planner 2", "planner 3", "runner 1", "runner 2"];
  expect(candidatesIn(rows).map(({ action }) => nameOf(action))).toEqual(
    names.map((one) => `${one}, turn 1`),
  );
});

it("calls chosen only what was chosen among several", () => {
  expect(choiceOf({ isChosen: true }, true)).toBeNull();
  expect(choiceOf({ isChosen: true }, false)).toBe("chosen");
  expect(choiceOf({ isChosen: false }, false)).toBe("not chosen");
});

it("of a branched episode, what the team played is chosen", () => {
  const view = handMadeView();
  const nodes = view.nodes.map((node) => ({ ...node, kept: true }));
  const chosenIn = (shown: typeof view) =>
    candidatesIn(gridOf(shown)).flatMap(({ isChosen, action }) => (isChosen ? [action.id] : []));
  expect(chosenIn({ ...view, nodes }).length).toBeGreaterThan(3);
  expect(chosenIn({ ...view, nodes, branched: true })).toEqual(["/planner/0"]);
});

const view = handMadeView();
const path = (end: string) => pathTo(view, end).map(({ rendered }) => rendered);
const said = (from: string) => saidAfter(view, from).map(({ id }) => id);

it("a trajectory goes from the first state to its end", () => {
  expect(path("1.0")).toEqual(["the start", "after planner 2", "after runner 1"]);
  expect(path("0")).toEqual(["the start", "after planner 1"]);
  expect(path("no node")).toEqual([]);
});

it("only what was kept was said after a state", () => {
  expect(said("")).toEqual(["/planner/1", "1/runner/0"]);
  expect(said("1")).toEqual(["1/runner/0"]);
  expect(said("1.0")).toEqual([]);
});

it.each([
  ["train/12/3", null, "Step 212, task 3"],
  ["evaluation/212/team/17", "team", "Evaluation after step 212, task 17"],
  ["evaluation/212/a/b/17/sample/2", "a/b", "Evaluation after step 212, task 17, sample 2"],
  ["mine/12/3", null, "mine/12/3"],
])("an episode is called by the run's step: %s", (id, team, title) => {
  expect(titleOf({ id, team, step: 212 })).toBe(title);
});

it("says that a run is finished or interrupted, or that watch stopped it", () => {
  const watch = { action: "stop", step: 4, text: "" } as const;
  expect(stateName({ state: "ended", step: 4, watch })).toBe("finished");
  expect(stateName({ state: "stopped", step: 4, watch })).toBe("stopped by watch");
  // It was resumed since, and stopped by somebody.
  expect(stateName({ state: "stopped", step: 5, watch })).toBe("interrupted");
});

it("lets a person play the role that acts next", async () => {
  const run = new ViewedRun("played", join(temporaryFolder(), "played"));
  onTestFinished(() => run.close());
  await writeHandMade(run.directory);
  const { nodes } = await run.episode("train/4/2", {});
  const roles = nodes.map(({ id, play }) => [id, /--role (\S+)$/.exec(play ?? "")?.[1]]);
  // Nothing was sampled after 0 and 2.
  const runner = ["0", "1", "2"].map((id) => [id, "runner"]);
  expect(roles).toEqual([["", "planner"], ...runner, ["1.0", undefined], ["1.1", undefined]]);
});

const credits: readonly ActionCredit[] = [
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
  const actions = [...credits.map(({ action }) => action), "frozen", "masked", "unknown"].map((id) => ({
    id,
    frozen: id === "frozen",
    masked: id === "masked" ? "the program edited it" : undefined,
  }));
  expect(Object.fromEntries(reasonsDropped({ episode: { actions }, credit: credits }))).toEqual({
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
