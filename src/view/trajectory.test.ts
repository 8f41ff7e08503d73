import { expect, it } from "vitest";
import { pathTo, saidAfter } from "./page/trajectory.ts";
import { handMadeView } from "./testing/hand-made.ts";

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
