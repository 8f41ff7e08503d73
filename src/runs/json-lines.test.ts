/** Records in lines: of a run, of calls, of trajectories. */
import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import { appendFile, readFile, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { appendFileSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import * as fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { appendLine, cutLines, readLines } from "./json-lines.ts";
import { unrecordedCalls } from "../calls/recorded.ts";
import { openRecordedCalls } from "./recorded-calls.ts";
import { TrajectoryLog } from "./trajectory-log.ts";

let directory = "";
let file = "";
beforeEach(() => {
  directory = temporaryFolder();
  file = path.join(directory, "records.jsonl");
});

it("lines that are appended are read back", async () => {
  const text = fc.string({ unit: "binary", maxLength: 20 });
  const record = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  // Each line is flushed to the disk.
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 3 }), async (records) => {
      await fs.rm(file, { force: true });
      for (const one of records) await appendLine(file, one);
      const read = (await readLines(file)).map((line) => line.value);
      expect(read).toEqual(records.map((one) => JSON.parse(JSON.stringify(one)) as unknown));
    }),
    { numRuns: 30 },
  );
});

it("a file truncated at any byte keeps its complete lines, and the next writer appends to them", async () => {
  for (const step of [1, 2, 3]) await appendLine(file, { step, text: "Schritt ✓" });
  const whole = await fs.readFile(file);
  const lineLength = whole.length / 3;
  for (let length = 0; length <= whole.length; length++) {
    await fs.writeFile(file, whole.subarray(0, length));
    expect(await readLines(file)).toHaveLength(Math.floor(length / lineLength));
    const kept = await cutLines(file, () => true);
    await appendLine(file, { step: 9 });
    expect((await readLines(file)).map((line) => line.value["step"])).toEqual([
      ...kept.map((value) => value["step"]),
      9,
    ]);
  }
});

it("lines of a file that is read in pieces are whole", async () => {
  const records = Array.from({ length: 7 }, (_, step) => ({ step, text: "✓".repeat(1_000_000) }));
  for (const record of records) await appendLine(file, record);
  const lines = await readLines(file);
  expect(lines.map(({ value }) => value)).toEqual(records);
  expect(lines.at(-1)?.end).toBe((await fs.stat(file)).size);
});

it("lines are kept up to the first rejected one", async () => {
  for (const step of [1, 2, 2, 3]) await appendLine(file, { step });
  const kept = await cutLines(file, (value) => Number(value["step"]) <= 2);
  expect(kept).toEqual([{ step: 1 }, { step: 2 }, { step: 2 }]);
  expect(await fs.readFile(file, "utf8")).toBe('{"step":1}\n{"step":2}\n{"step":2}\n');
});

it("a file that does not exist has no lines", async () => {
  expect(await readLines(file)).toEqual([]);
  expect(await cutLines(file, () => true)).toEqual([]);
});

it.each(["oops", "[1]", "null", "3"])(
  "a damaged line %j in the middle is named by file and line",
  async (line) => {
    await fs.writeFile(file, `{"step":1}\n${line}\n{"step":3}\n`);
    await expect(readLines(file)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringContaining(`${file}:2`) as string,
    });
  },
);

it("a pipe in the place of a file is named, not waited for", async () => {
  execFileSync("mkfifo", [file]);
  await expect(readLines(file)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining("is a pipe or a device") as unknown,
  });
});

const call = (key: string, answer: object) => ({ key, answer });

it("finds what was recorded, now and after reopening; the first answer stays", async () => {
  const calls = await openRecordedCalls(file);
  await calls.put([call("a", { score: 1 }), call("b", { score: 0 })]);
  await calls.put([call("a", { score: 0.5 })]);
  for (const one of [calls, await openRecordedCalls(file)]) {
    expect([one.get("a"), one.get("b"), one.get("c")]).toEqual([{ score: 1 }, { score: 0 }, undefined]);
  }
  expect(readFileSync(file, "utf8").split("\n")).toHaveLength(3);
});

it("keeps lines intact if writes overlap", async () => {
  const calls = await openRecordedCalls(file);
  const long = "x".repeat(200_000);
  await Promise.all(Array.from({ length: 20 }, (_, index) => calls.put([call(`${index}`, { long })])));
  const again = await openRecordedCalls(file);
  for (let index = 0; index < 20; index++) expect(again.get(`${index}`)).toEqual({ long });
});

it("truncates an incomplete last line, and reports damage before it", async () => {
  await (await openRecordedCalls(file)).put([call("a", { score: 1 })]);
  const whole = readFileSync(file, "utf8");
  appendFileSync(file, whole.replace('"a"', '"b"').slice(0, -9));
  expect((await openRecordedCalls(file)).get("b")).toBeUndefined();
  expect(readFileSync(file, "utf8")).toBe(whole);
  writeFileSync(file, `garbage\n${whole}`);
  await expect(openRecordedCalls(file)).rejects.toMatchObject({ code: "bad_run" });
});

it("creates no file before there is something to record", async () => {
  expect((await openRecordedCalls(file)).get("a")).toBeUndefined();
  await unrecordedCalls().put([call("a", {})]);
  expect(() => readFileSync(file)).toThrow("ENOENT");
});

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
