import { expect, it, describe } from "vitest";
import { wilsonInterval } from "../statistics.ts";
import { onCommonTasks } from "./common-tasks.ts";
import { isSameTraining, trainingLines } from "./same-training.ts";

const whole = { tasks: 4, solved: "1100", success: 0.5, low: 0.1, high: 0.9 };

it("evaluations are of the tasks that all of them have", () => {
  const few = { tasks: 2, solved: "10", success: 0.5, low: 0, high: 1 };
  expect(onCommonTasks([whole, few])).toEqual([
    { tasks: 2, solved: "1100", success: 1, ...wilsonInterval(2, 2) },
    few,
  ]);
  expect(onCommonTasks([whole])).toEqual([whole]);
  expect(onCommonTasks([])).toEqual([]);
});

it("one that does not say which tasks it solved stays as it is", () => {
  const { solved: _, ...unknown } = whole;
  expect(onCommonTasks([unknown, { ...unknown, tasks: 2 }])).toEqual([unknown, { ...unknown, tasks: 2 }]);
});

const recipe = (environment: string, more = "train: { steps: 3 }"): string =>
  `name: x\ndescription: one\nenvironment:\n${environment}\n${more}\n`;

const here = "  module: ../../coins.ts\n  moduleHash: aa";

describe("isSameTraining", () => {
  it("ignores what is for people", () => {
    expect(isSameTraining(recipe(here), recipe(here).replace("one", "two"))).toBe(true);
    expect(isSameTraining(recipe(here), recipe(here, "train: { steps: 4 }"))).toBe(false);
  });

  it("accepts a moved module with the same contents, and a changed one in the same place", () => {
    const elsewhere = "  module: ../../../games/coins.ts\n  moduleHash: aa";
    const changed = "  module: ../../coins.ts\n  moduleHash: bb";
    const other = "  module: ../../other.ts\n  moduleHash: bb";
    expect(isSameTraining(recipe(here), recipe(elsewhere))).toBe(true);
    expect(isSameTraining(recipe(here), recipe(changed))).toBe(true);
    expect(isSameTraining(recipe(here), recipe(other))).toBe(false);
    expect(isSameTraining(recipe(here), recipe(`${elsewhere}\n  size: 3`))).toBe(false);
  });

  it("does not report a hash as a difference", () => {
    expect(trainingLines(recipe(here)).map(({ number }) => number)).toEqual([1, 3, 4, 6, 7]);
  });
});
