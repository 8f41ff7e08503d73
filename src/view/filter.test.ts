import { expect, it } from "vitest";
import { ignoredIn, rangeProblem } from "./filter.ts";

it("says what of an address is no filter", () => {
  expect(ignoredIn(new URLSearchParams("step=3~9&text=a"))).toBeNull();
  expect(ignoredIn(new URLSearchParams("steps=9-3&text=a"))).toContain(
    "The address has steps, which is ignored. Filters are text, from,",
  );
});

it.each([
  ["step", "401.5", "", "a step is a whole number from 0"],
  ["step", "", "-7", "a step is a whole number from 0"],
  ["step", "9", "10", null],
  ["step", "", "", null],
  ["reward", "5", "1", "from is above to"],
  ["reward", "-0.5", "", null],
] as const)("says what is wrong with a range: %s from %s to %s", (name, from, to, problem) => {
  expect(rangeProblem(name, from, to)).toBe(problem);
});
