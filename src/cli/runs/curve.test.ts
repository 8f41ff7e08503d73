import { expect, it } from "vitest";
import { smoothed } from "./curve.ts";

const at = (...points: readonly (readonly [number, number])[]) =>
  points.map(([step, value]) => ({ step, value }));

it("a mean is over steps: evaluations that are further apart stay as they are", () => {
  const evaluations = at([0, 0], [20, 0.25], [40, 0.5], [60, 0.75]);
  expect(smoothed(evaluations, 5)).toEqual(evaluations);
  expect(smoothed(evaluations, 21)).toEqual(at([0, 0], [20, 0.125], [40, 0.375], [60, 0.625]));
});

it("of a figure of every step it is over as many points", () => {
  expect(smoothed(at([1, 1], [2, 2], [3, 3], [4, 4]), 2)).toEqual(at([1, 1], [2, 1.5], [3, 2.5], [4, 3.5]));
});
