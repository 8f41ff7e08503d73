/** What an exported file has of the records of runs. */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { layoutOf } from "../runs/layout.ts";
import { exportOf } from "./export.ts";
import { answerFrom } from "./page/exported.ts";
import { ViewedRuns } from "./runs.ts";
import { writeHandMade } from "./testing/hand-made.ts";
import { drawnEpisodes, writeEpisodes, writeRun } from "./testing/written-run.ts";

const root = temporaryFolder();

async function exported(names: readonly string[], episodes: number) {
  const runs = new ViewedRuns(async () => names.map((name) => join(root, name)));
  const data = await exportOf(runs, { episodes, characters: 2 ** 26 });
  await runs.close();
  return data;
}

it("says which keys of the recipes differ, and how", async () => {
  await writeHandMade(join(root, "small"), 4);
  await writeHandMade(join(root, "middle"), 6);
  await writeHandMade(join(root, "large"), 8);
  const data = await exported(["small", "middle", "large"], 1);
  expect(data.differences).toEqual([{ key: "environment.size", values: ["4", "6", "8"] }]);
  expect(answerFrom(data, "/api/compare?runs=large,small")).toEqual([
    { key: "environment.size", values: ["8", "4"] },
  ]);
});

function drawn(seed: number, count: number, isTrained: boolean) {
  return drawnEpisodes(seed, count).map((episode) => ({ ...episode, isTrained }));
}

it("has as many episodes of training as of evaluations, and says how many it leaves out", async () => {
  await writeRun(join(root, "long"), drawn(3, 2, true));
  await writeEpisodes(join(root, "long"), drawn(4, 4, false));
  const files = "Not in this file: program files of long, and “Continue from here”.";
  const left = (counts: string) => [`long has ${counts} episodes, the newest of each.`, files];
  const two = await exported(["long"], 2);
  expect(two.leftOut).toEqual(left("1 of 2 training and 1 of 4 evaluation"));
  const listed = two.lists["long"]?.episodes.map(({ id }) => id);
  expect(listed).toEqual(["evaluation/6/0", "train/2/0"]);
  expect((await exported(["long"], 5)).leftOut).toEqual(left("2 of 2 training and 3 of 4 evaluation"));
  expect((await exported(["long"], 6)).leftOut).toEqual([files]);
});

it("has no commands, which name a folder of the machine with the run", async () => {
  await writeRun(join(root, "here"), drawnEpisodes(3, 1));
  const { episodes } = await exported(["here"], 1);
  expect(JSON.stringify(episodes)).toContain("a board");
  expect(JSON.stringify(episodes)).not.toContain("troupe play");
});

it("has tokens per second of sampling, and what it has cost up to each step", async () => {
  const directory = join(root, "timed");
  await writeHandMade(directory);
  const { metrics, timings } = layoutOf(directory);
  for (const [step, sampledTokens] of [300, 500].entries()) {
    const means = { success: 0, score: 0, turns: 1, flatGroups: 0 };
    const rollout = { ...means, episodes: 1, groups: 0, roles: {}, promptTokens: 0, sampledTokens };
    const place = { schema_version: 1, step: step + 1, stage: "reinforcement", stageStep: step + 1 };
    const record = { ...place, policies: {}, rollout };
    await appendFile(metrics, `${JSON.stringify(record)}\n`);
  }
  const coach = { tokens: 900, dollars: 0.5 };
  const times = [
    { what: "evaluation", step: 0, seconds: 4 },
    { what: "reinforcement", step: 1, seconds: 5, sampling: 2, coach },
    { what: "evaluation", step: 1, seconds: 27, coach: { ...coach, tokens: 950 } },
    { what: "reinforcement", step: 2, seconds: 36 },
  ];
  for (const timing of times)
    await appendFile(timings, `${JSON.stringify({ schema_version: 1, ...timing })}\n`);
  const { curves } = await exported(["timed"], 0);
  expect(curves["timed"]?.timed).toEqual({
    seconds: [5, 36],
    tokensPerSecond: [150, null],
    hours: [0.01, 0.02],
    coachTokens: [950, null],
    coachDollars: [0.5, null],
  });
});
