import { expect, it } from "vitest";
import { sudokuEnvironment, taskOf } from "./test-grids.ts";

it("a grid shows clues, entries and proposals", () => {
  const environment = sudokuEnvironment();
  const start = environment.start(taskOf("1... .4.. .14. ..2."));
  const filled = environment.step(start, { planner: "b1=2 c1=3" }).state;
  const { state } = environment.step(filled, { proposer: "d4=1" });
  expect(environment.render(state).split("\n")).toEqual([
    "     a  b   c  d",
    "   ┼──────┼──────┼",
    " 1 │ 1 (2)│(3) · │",
    " 2 │ ·  4 │ ·  · │",
    "   ┼──────┼──────┼",
    " 3 │ ·  1 │ 4  · │",
    " 4 │ ·  · │ 2  1?│",
    "   ┼──────┼──────┼",
    "   1 clue   (1) entered   1? proposed",
  ]);
});
