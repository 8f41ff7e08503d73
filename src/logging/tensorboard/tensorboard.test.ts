import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Point } from "../sink.ts";
import { appendSteps, startRun } from "../testing/run-folder.ts";
import { crc32c, eventFile, tensorboardSink } from "./sink.ts";

let root = "";
beforeEach(async () => {
  root = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-tensorboard-"));
});
afterEach(() => fs.rm(root, { recursive: true }));

function point(time: number, step: number, values: Readonly<Record<string, number>>): Point {
  return { key: `metrics/${step}`, step, time, values: new Map(Object.entries(values)) };
}

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
it.each([
  [Buffer.alloc(32), 0x8a9136aa],
  [Buffer.alloc(32, 255), 0x62a8ab43],
  [Buffer.from("123456789"), 0xe3069283],
])("computes CRC-32C", (data, expected) => {
  expect(crc32c(data)).toBe(expected);
});

it("writes the same bytes as TensorBoard's own writer", async () => {
  const points = [
    point(1_700_000_001_000, 1, { loss: 0.25, success: -3.5 }),
    point(1_700_000_002_750, 300, { "policies/größe": 1e-7 }),
  ];
  const expected = await fs.readFile(path.join(import.meta.dirname, "fixtures", "events.tfevents"));
  expect(eventFile(1_700_000_000_500, points).toString("hex")).toBe(expected.toString("hex"));
});

const folder = () => path.join(root, "logging", "tensorboard");

async function onlyFile(): Promise<{ readonly name: string; readonly contents: string }> {
  const names = await fs.readdir(folder());
  expect(names).toHaveLength(1);
  const name = names.join();
  return { name, contents: await fs.readFile(path.join(folder(), name), "hex") };
}

it("extends the file while the run grows, and writes it again if steps were repeated", async () => {
  await startRun(root);
  const sink = tensorboardSink(root);
  await appendSteps(root, 1, 3, 0.5);
  await sink.update();
  const short = await onlyFile();
  await appendSteps(root, 4, 5, 0.5);
  await sink.update();
  const long = await onlyFile();
  expect(long.name).toBe(short.name);
  expect(long.contents.length).toBeGreaterThan(short.contents.length);
  expect(long.contents.startsWith(short.contents)).toBe(true);

  // A resume rewinds the records and repeats the steps; this time they take longer.
  await startRun(root);
  await appendSteps(root, 1, 3, 0.5);
  await sink.update();
  expect(await onlyFile()).toEqual(long);
  await appendSteps(root, 4, 6, 0.75);
  await sink.update();
  const { contents } = await onlyFile();
  await fs.rm(folder(), { recursive: true });
  await sink.update();
  expect((await onlyFile()).contents).toBe(contents);
});

it("completes a file that a killed process left incomplete", async () => {
  await startRun(root);
  await appendSteps(root, 1, 3, 0.5);
  const sink = tensorboardSink(root);
  await sink.update();
  const whole = await onlyFile();
  await fs.truncate(path.join(folder(), whole.name), whole.contents.length / 2 - 7);
  await sink.update();
  expect(await onlyFile()).toEqual(whole);
});
