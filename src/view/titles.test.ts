import { expect, it } from "vitest";
import { titleOf } from "./page/titles.ts";

it.each([
  ["train/12/3", null, "Step 212, task 3"],
  ["evaluation/212/team/17", "team", "After step 212, task 17"],
  ["evaluation/212/a/b/17/sample/2", "a/b", "After step 212, task 17, sample 2"],
  ["mine/12/3", null, "mine/12/3"],
])("an episode is called by the run's step: %s", (id, team, title) => {
  expect(titleOf({ id, team, step: 212 })).toBe(title);
});
