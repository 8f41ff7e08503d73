import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Point } from "../points.ts";
import { appendSteps, startRun } from "../testing/run-folder.ts";
import { crc32c, eventFile } from "./event-file.ts";
import { tensorboardSink } from "./sink.ts";

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

async function files(): Promise<Record<string, Buffer>> {
  const folder = path.join(root, "logging", "tensorboard");
  const names = await fs.readdir(folder);
  const contents = names.map(async (name) => [name, await fs.readFile(path.join(folder, name))] as const);
  return Object.fromEntries(await Promise.all(contents));
}

it("extends the file while the run grows, and writes it again if steps were repeated", async () => {
  await startRun(root);
  const sink = tensorboardSink(root);
  await appendSteps(root, 1, 3, 0.5);
  await sink.update();
  const [[name = "", short = Buffer.alloc(0)] = []] = Object.entries(await files());
  await appendSteps(root, 4, 5, 0.5);
  await sink.update();
  const long = (await files())[name] ?? Buffer.alloc(0);
  expect(long.length).toBeGreaterThan(short.length);
  expect(long.subarray(0, short.length)).toEqual(short);

  // A resume rewinds the records and repeats the steps; this time they take longer.
  await startRun(root);
  await appendSteps(root, 1, 3, 0.5);
  await sink.update();
  expect((await files())[name]).toEqual(long);
  await appendSteps(root, 4, 6, 0.75);
  await sink.update();
  const after = Object.entries(await files());
  expect(after).toHaveLength(1);
  await fs.rm(path.join(root, "logging"), { recursive: true });
  await tensorboardSink(root).update();
  expect(Object.values(await files())).toEqual([after[0]?.[1]]);
});

it("completes a file that a killed process left incomplete", async () => {
  await startRun(root);
  await appendSteps(root, 1, 3, 0.5);
  await tensorboardSink(root).update();
  const [[name = "", whole = Buffer.alloc(0)] = []] = Object.entries(await files());
  await fs.truncate(path.join(root, "logging", "tensorboard", name), whole.length - 7);
  await tensorboardSink(root).update();
  expect(await files()).toEqual({ [name]: whole });
});
