import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { ViewedRun } from "./run.ts";
import { writeHandMade } from "./testing/hand-made.ts";

const root = temporaryFolder();

async function handMade(name: string): Promise<ViewedRun> {
  const run = new ViewedRun(name, join(root, name));
  onTestFinished(() => run.close());
  await writeHandMade(run.directory);
  return run;
}

it("lets a person play the role that acts next", async () => {
  const { nodes } = await (await handMade("played")).episode("train/4/2", {});
  const roles = nodes.map(({ id, play }) => [id, /--role (\S+)$/.exec(play ?? "")?.[1]]);
  expect(roles).toEqual([
    ["", "planner"],
    // Nothing was sampled there.
    ["0", "runner"],
    ["1", "runner"],
    ["2", "runner"],
    ["1.0", undefined],
    ["1.1", undefined],
  ]);
});
