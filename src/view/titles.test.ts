import { expect, it } from "vitest";
import { stateName, titleOf } from "./page/titles.ts";

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
