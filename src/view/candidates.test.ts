import { expect, it } from "vitest";
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
import { handMadeView } from "./testing/hand-made.ts";

const rows = gridOf(handMadeView());

it("has a row for each turn, a cell for each role, and in it the candidates from each state", () => {
  const shown = rows.map(({ turn, cells }) => [
    turn,
    cells.map(({ role, siblings }) => [
      role,
      siblings.map(({ parent, candidates }) => [
        parent,
        candidates.map(({ action, edge, isChosen }) => [
          action.sample,
          edge?.team,
          edge?.local,
          edge?.judge,
          isChosen,
        ]),
      ]),
    ]),
  ]);
  expect(shown).toEqual([
    [
      0,
      [
        [
          "planner",
          [
            [
              "",
              [
                [0, 0.25, 0.125, 0.4, false],
                [1, 0.75, 0.5, 0.9, true],
                [2, null, null, null, false],
              ],
            ],
          ],
        ],
        [
          "runner",
          [
            [
              "1",
              [
                [0, 0.875, 0.0625, null, true],
                [1, 0.3, 0.7, null, false],
              ],
            ],
          ],
        ],
      ],
    ],
  ]);
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
  const all = candidatesIn(rows);
  const from = (id: string) =>
    (["up", "down", "left", "right"] as const).map((direction) => neighbour(rows, id, direction)?.action.id);
  expect(from("/planner/1")).toEqual(["/planner/0", "/planner/2", undefined, "1/runner/1"]);
  expect(from("1/runner/0")).toEqual([undefined, "1/runner/1", "/planner/0", undefined]);
  expect(siblingsOf(rows, "/planner/1").map(({ action }) => action.id)).toEqual(["/planner/0", "/planner/2"]);
  expect(all.map(({ action }) => nameOf(action))).toEqual([
    "planner 1, turn 1",
    "planner 2, turn 1",
    "planner 3, turn 1",
    "runner 1, turn 1",
    "runner 2, turn 1",
  ]);
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
