import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { TrajectoryLog } from "./trajectory-log.ts";

let file = "";
beforeEach(async () => {
  file = path.join(await mkdtemp(path.join(os.tmpdir(), "troupe-trajectories-")), "trajectories.jsonl");
});
afterEach(() => rm(path.dirname(file), { recursive: true }));

async function filled(): Promise<TrajectoryLog> {
  const log = await TrajectoryLog.open(file, 0);
  const put = (step: number, key: string) =>
    log.put({ step, episode: `train/${step}/0`, trajectory: 0, key, contents: `of ${key}` });
  await Promise.all([put(1, "one"), put(2, "two"), put(3, "three")]);
  return log;
}

const keysAfter = async (step: number): Promise<readonly (string | undefined)[]> => {
  const log = await TrajectoryLog.open(file, step);
  return ["one", "two", "three"].map((key) => log.get(key));
};

it("finds what an earlier process wrote, without an incomplete last line", async () => {
  await filled();
  expect(await keysAfter(0)).toEqual(["of one", "of two", "of three"]);
  await truncate(file, (await readFile(file)).length - 1);
  expect(await keysAfter(0)).toEqual(["of one", "of two", undefined]);
  await filled();
  expect(await keysAfter(0)).toEqual(["of one", "of two", "of three"]);
});

it("forgets what a checkpoint made unnecessary, then and when it is opened, and the file with the last one", async () => {
  const log = await filled();
  await log.forget(1);
  expect(await keysAfter(0)).toEqual([undefined, "of two", "of three"]);
  expect(await keysAfter(2)).toEqual([undefined, undefined, "of three"]);
  expect(await keysAfter(3)).toEqual([undefined, undefined, undefined]);
  expect(existsSync(file)).toBe(false);
});

it("rejects a line that somebody changed", async () => {
  await filled();
  await appendFile(file, '{"schema_version":1,"step":"four"}\n');
  await expect(TrajectoryLog.open(file, 0)).rejects.toMatchObject({ code: "bad_run" });
  await writeFile(file, "nonsense\n{}\n");
  await expect(TrajectoryLog.open(file, 0)).rejects.toMatchObject({ code: "bad_run" });
});
