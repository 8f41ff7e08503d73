import { expect, it } from "vitest";
import { wilsonInterval } from "../statistics.ts";
import { onCommonTasks } from "./common-tasks.ts";

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
