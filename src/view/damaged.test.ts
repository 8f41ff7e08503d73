/** What others have damaged, or a run has cut meanwhile, is an answer that says so: the viewer goes on, and no number is wrong. */
import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { layoutOf, type RunLayout } from "../runs/layout.ts";
import { RunCurves } from "./curves.ts";
import { Entries } from "./entries.ts";
import { ViewedRun } from "./run.ts";
import { drawnEpisodes, writeEpisodes, writeRun } from "./testing/written-run.ts";

const root = temporaryFolder();
const all = Array.from({ length: 40 }, (_, index) => index);

async function written(name: string): Promise<RunLayout> {
  await writeRun(join(root, name), drawnEpisodes(3, all.length));
  return layoutOf(join(root, name));
}

async function changeLine(file: string, number: number, change: (line: string) => string): Promise<void> {
  const lines = (await fs.readFile(file, "utf8")).split("\n");
  lines[number - 1] = change(lines[number - 1] ?? "");
  await fs.writeFile(file, lines.join("\n"));
}

describe("the index of episodes", () => {
  it("has an invalid line: the error names it, and the other lines are read", async () => {
    const { directory, episodeIndex } = await written("invalid");
    await changeLine(episodeIndex, 9, (line) => line.replace(/"score":[^,]+/, '"score":null'));
    const entries = new Entries(directory);
    await entries.refresh();
    await expect(entries.entries(all)).rejects.toThrow("index.jsonl:9 is invalid (score:");
    expect(await entries.entries(all.slice(10))).toHaveLength(30);
  });

  it("was cut and extended during a read: the error says to try again", async () => {
    const { directory } = await written("cut");
    const entries = new Entries(directory);
    await entries.refresh();
    await writeEpisodes(directory, drawnEpisodes(4, 30), 7);
    await expect(entries.entries(all)).rejects.toThrow("changed while it was read: the run was cut");
    expect(await entries.entries(all.slice(0, 37))).toHaveLength(37);
  });
});

it("a pipe in place of the episodes is no reason to wait", async () => {
  const { directory, episodeData } = await written("piped");
  await fs.rm(episodeData);
  execFileSync("mkfifo", [episodeData]);
  const run = new ViewedRun("piped", directory);
  onTestFinished(() => run.close());
  const [newest] = (await run.list({ filter: {}, cursor: null, limit: 1 })).episodes;
  await expect(run.episode(newest?.id ?? "", {})).rejects.toThrow("episodes.jsonl.gz is a pipe or a device");
});

describe("timings", () => {
  const timing = { schema_version: 1, what: "reinforcement", step: 1, seconds: 2 };

  it.each([
    ["that are no number", { ...timing, seconds: null }, /timings\.jsonl:2 is invalid \(seconds:/],
    ["below zero", { ...timing, seconds: -1e9 }, /timings\.jsonl:2 is invalid \(seconds:/],
    ["of a step that has some", { ...timing }, /timings\.jsonl:2 .*it is of step 1, after one of step 1/],
    [
      "of a coach that is no number",
      { ...timing, coach: { tokens: "lots" } },
      /timings\.jsonl:2 is invalid \(coach\.tokens:/,
    ],
    ["of another version", { ...timing, schema_version: 99 }, /timings\.jsonl:2 has schema_version 99/],
  ])("%s are reported, and no curve has them", async (name, line, problem) => {
    const { directory, timings } = await written(`timed ${name}`);
    await fs.writeFile(timings, `${JSON.stringify(timing)}\n${JSON.stringify(line)}\n`);
    await expect(new RunCurves(directory).refresh()).rejects.toThrow(problem);
  });
});

it("metrics of another version are reported", async () => {
  const { directory, metrics } = await written("version");
  await fs.appendFile(metrics, `${JSON.stringify({ schema_version: 99, step: 1 })}\n`);
  await expect(new RunCurves(directory).refresh()).rejects.toThrow("metrics.jsonl:1 has schema_version 99");
});
