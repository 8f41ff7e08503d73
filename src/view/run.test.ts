import fs from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { layoutOf } from "../runs/layout.ts";
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

it("tells the first trajectory from the branches that say what alternatives are worth", async () => {
  const run = await handMade("branched");
  const { stored } = await run.stored("train/4/2");
  const ends = [
    { node: "0.0", outcome: { success: false, score: 0.1 }, turns: 1 },
    { node: "1.0", outcome: { success: true, score: 0.9 }, turns: 1 },
  ];
  const branched = { ...stored, episode: { ...stored.episode, ends } };
  expect(await run.viewOf(branched)).not.toHaveProperty("first");
  const { recipe } = layoutOf(run.directory);
  const text = await fs.readFile(recipe, "utf8");
  await fs.writeFile(recipe, text.replace("name: at-grpo", "name: c3, continued: once"));
  expect(await run.viewOf(branched)).toMatchObject({ first: { success: false, score: 0.1 } });
});
