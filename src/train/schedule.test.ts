import { expect, test } from "vitest";
import { learningRateAt } from "./update.ts";

const base = { learningRate: 1, finalLearningRate: 0.1, warmupSteps: 0, steps: 5 } as const;
const rates = (schedule: Parameters<typeof learningRateAt>[0]) =>
  Array.from({ length: schedule.steps }, (_, index) => learningRateAt(schedule, index + 1));
const close = (values: number[]) => values.map((value) => expect.closeTo(value, 12) as number);
const cosine = (angle: number) => 0.1 + (0.9 * (1 + Math.cos(angle))) / 2;

test("constant stays", () => {
  expect(rates({ ...base, schedule: "constant" })).toEqual([1, 1, 1, 1, 1]);
});

test("linear and cosine start at the learning rate and end at its share", () => {
  expect(rates({ ...base, schedule: "linear" })).toEqual(close([1, 0.775, 0.55, 0.325, 0.1]));
  expect(rates({ ...base, schedule: "cosine" })).toEqual(
    close([1, cosine(Math.PI / 4), 0.55, cosine((3 * Math.PI) / 4), 0.1]),
  );
});

test("warm-up rises linearly and never starts at 0", () => {
  expect(rates({ ...base, schedule: "constant", warmupSteps: 3 })).toEqual([0.25, 0.5, 0.75, 1, 1]);
});

test("a stage of one step has the full learning rate", () => {
  expect(rates({ ...base, schedule: "cosine", steps: 1 })).toEqual([1]);
});
