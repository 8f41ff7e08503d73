import { expect, it } from "vitest";
import { curveText } from "./curve-text.ts";

const line = (name: string, ...values: readonly number[]) => ({
  name,
  points: values.map((value, step) => ({ step, value })),
});

it("shows whole labels where all values are 0", () => {
  const lines = curveText([line("flat", 0, 0, 0)], "success", { columns: 60 }).split("\n");
  const labels = lines.flatMap((each) => /^ *([\d.]+)┤/.exec(each)?.[1] ?? []);
  expect(labels).toEqual(["1.00", "0.800", "0.600", "0.400", "0.200", "0"]);
});

it("draws every run with its own mark, and marks in turn where runs coincide", () => {
  const curves = [line("up", 0, 1, 1), line("flat", 1, 1, 1)];
  const drawn = curveText(curves, "success", { columns: 27 });
  // By hand: 27 columns less five of labels and two are 20; the first step is in column 0, the second in column 10.
  expect(drawn.split("\n").slice(2, 4)).toEqual([" 1.00┤oooooooooo*o*o*o*o*o", "     │         *"]);
  expect(drawn).toContain("\n  * up: 0 → 1.00 at step 2\n  o flat:\n    1.00 → 1.00 at step 2\n");
});

it.each([20, 60, 80, 120])("fits %i columns", (columns) => {
  const curves = [line("a", 1, 2, 30), line("b", ...Array.from({ length: 1200 }, (_, step) => step / 7))];
  const lines = curveText(curves, "rollout.score", { columns }).split("\n");
  expect(Math.max(...lines.map((each) => each.length))).toBeLessThanOrEqual(Math.max(columns, 30));
});
