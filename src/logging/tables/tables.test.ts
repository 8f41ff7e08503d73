import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { growEpisode } from "../../rollout/grow.ts";
import { newEpisode } from "../../rollout/stored.ts";
import { numbersPolicy, settingFor } from "../../rollout/testing/numbers.ts";
import { scriptedEngine } from "../../rollout/testing/scripted-engine.ts";
import { EpisodeLog } from "../../runs/episode-log.ts";
import { layoutOf } from "../../runs/layout.ts";
import { startRun } from "../testing/run-folder.ts";
import { csvLines, readTable, tableOf } from "./tables.ts";

it("has a column for each value that any step has, and leaves empty what a step has not", () => {
  const records = [
    { step: 1, stage: "warm-start", policies: { shared: { loss: 0.5 } } },
    { step: 2, stage: 'a "b", c', policies: { shared: { loss: 1e-7, kl: 0 } }, rollout: { success: 0.25 } },
    { step: 3, rollout: { success: null, parts: {} } },
  ];
  expect(csvLines(tableOf(records))).toEqual([
    "step,stage,policies.shared.loss,policies.shared.kl,rollout.success",
    "1,warm-start,0.5,,",
    '2,"a ""b"", c",1e-7,0,0.25',
    "3,,,,",
  ]);
  expect(csvLines(tableOf([]))).toEqual([""]);
});

it("has no cell that a spreadsheet runs, or that controls a terminal", () => {
  const texts = ["=1+1", "@SUM(A1)", "+cmd", "-2+3", "-1.5", "\tx", "a\u202eb\u001b[31m"];
  const rows = texts.map((stage) => csvLines(tableOf([{ stage }]))[1]);
  expect(rows).toEqual(["'=1+1", "'@SUM(A1)", "'+cmd", "'-2+3", "-1.5", "'\tx", "a\ufffdb\ufffd[31m"]);
  expect(csvLines(tableOf([{ loss: -1.5 }]))[1]).toBe("-1.5");
});

it("says of each action why it was not trained", async () => {
  await using folder = await fs.mkdtempDisposable(path.join(os.tmpdir(), "troupe-tables-"));
  await startRun(folder.path);
  const policy = numbersPolicy();
  const engine = scriptedEngine(policy.tokenizer, () => "5");
  const start = { id: "train/1/0", task: {}, path: ["train", 1, 0] };
  const episode = await growEpisode(settingFor(policy, { engine }), rootKey(1), start);
  const log = await EpisodeLog.open(layoutOf(folder.path), () => true);
  const credit = episode.actions.map(({ id }, index) => {
    const given = { action: id, group: "g", return: 1, advantage: 0 };
    return index === 0 ? { ...given, leftOut: "down-sampled" as const } : given;
  });
  await log.append(newEpisode(episode, { step: 1 }, () => "", credit));
  const { rows } = await readTable(folder.path, "actions");
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.map((row) => row.get("leftOut"))).toEqual(
    episode.actions.map((_, index) => (index === 0 ? "down-sampled" : undefined)),
  );
});
