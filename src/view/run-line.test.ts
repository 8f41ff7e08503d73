import fs from "node:fs/promises";
import path from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { appendLine } from "../runs/json-lines.ts";
import { layoutOf } from "../runs/layout.ts";
import type { Evaluation, WatchRecord } from "../runs/records.ts";
import type { Interval } from "./api.ts";
import { KeptFile } from "./kept-file.ts";
import { ViewedRuns } from "./runs.ts";
import { writeRun } from "./testing/written-run.ts";

const root = temporaryFolder();
let [run, number] = ["", 0];
let runs: ViewedRuns;
beforeEach(async () => {
  run = path.join(root, `run-${number++}`);
  const other = path.join(root, `other-${number}`);
  await writeRun(run, []);
  await writeRun(other, []);
  runs = new ViewedRuns(async () => [run, other]);
  return () => runs.close();
});

it("a file that may not be read hides neither the other runs nor their changes", async () => {
  const { metrics } = layoutOf(run);
  await fs.writeFile(metrics, '{"step":1}\n');
  const open = fs.open.bind(fs);
  // As for somebody without the right: whoever runs the tests may have all rights.
  vi.spyOn(fs, "open").mockImplementation((file, ...rest) => {
    return file === metrics
      ? Promise.reject(Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" }))
      : open(file, ...rest);
  });
  const lines = await runs.lines();
  expect(lines.map(({ state }) => state)).toEqual(["damaged", "stopped"]);
  expect(lines[0]?.problem).toContain(`Cannot read ${metrics}: EACCES`);
  expect((await runs.changes()).map(({ state }) => state)).toEqual(["damaged", "stopped"]);
});

it("shows what is left of a recipe whose parts are something else", async () => {
  const { recipe } = layoutOf(run);
  const text = (await fs.readFile(recipe, "utf8"))
    .replace(/phases: .*, turns/, "phases: planner, turns")
    .replace("seed: 3", 'seed: "3"');
  await fs.writeFile(recipe, `${text}warmStart: { steps: "5" }\n`);
  const [shown] = await runs.all();
  const left = { recipe: "written", environment: "plan-path", seed: null, steps: 10 };
  expect(await shown?.page()).toMatchObject({ state: "stopped", ...left, roles: ["planner", "runner"] });
});

async function shownSuccess(): Promise<Interval | null | undefined> {
  return (await runs.lines())[0]?.success;
}

it("shows the team's last evaluation, also once another one is there", async () => {
  const { evaluations } = layoutOf(run);
  const evaluated = async (team: string, mean: number): Promise<void> => {
    const means = { success: mean, low: 0, high: 1, score: mean, turns: 1, successByTurn: [mean] };
    const counts = { tasks: 1, successes: 1, promptTokens: 1, sampledTokens: 1 };
    const record = { schema_version: 1, step: 0, moment: "before", team, ...counts, ...means } as const;
    await appendLine(evaluations, record satisfies Evaluation);
  };
  expect(await shownSuccess()).toBeNull();
  await evaluated("team", 0.25);
  expect(await shownSuccess()).toEqual({ mean: 0.25, low: 0, high: 1 });
  await evaluated("team", 0.5);
  await evaluated("untrained", 0.75);
  expect(await shownSuccess()).toEqual({ mean: 0.5, low: 0, high: 1 });
});

it("reads a file again only if it was written, or could not be read", async () => {
  const file = path.join(run, "kept");
  const read = vi.fn<() => Promise<string>>(() => fs.readFile(file, "utf8"));
  const kept = new KeptFile(file, read);
  await expect(kept.value()).rejects.toThrow("ENOENT");
  await expect(kept.value()).rejects.toThrow("ENOENT");
  await fs.writeFile(file, "one");
  expect(await Promise.all([kept.value(), kept.value()])).toEqual(["one", "one"]);
  expect(read).toHaveBeenCalledTimes(3);
  await fs.writeFile(`${file}.new`, "two");
  await fs.rename(`${file}.new`, file);
  expect([await kept.value(), await kept.value()]).toEqual(["two", "two"]);
  expect(read).toHaveBeenCalledTimes(4);
});

it("says what watch did last", async () => {
  const { watch } = layoutOf(run);
  const sign = { schema_version: 1, measure: "kl", of: "shared", value: 0.114, success: 0.5 } as const;
  const crossed = { ...sign, limit: { kind: "above", at: 0.05 } } as const;
  const shown = async (record: WatchRecord) => {
    await appendLine(watch, record);
    return (await runs.lines())[0]?.watch?.text;
  };
  const why = "KL of shared is 0.114 nats per token, above 0.05.";
  expect(await shown({ ...crossed, step: 150, action: "warn" })).toBeUndefined();
  const returned = { to: 140, learningRateFactor: 0.5 };
  expect(await shown({ ...crossed, step: 152, action: "return", returned })).toBe(
    `Returned to step 140 after step 152: ${why}`,
  );
  expect(await shown({ ...crossed, step: 156, action: "stop" })).toBe(
    `Stopped by watch after step 156: ${why}`,
  );
});
