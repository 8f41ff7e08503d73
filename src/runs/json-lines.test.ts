import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appendLine, cutLines, readLines } from "./json-lines.ts";

let directory = "";
let file = "";
beforeEach(async () => {
  directory = await fs.mkdtemp(path.join(os.tmpdir(), "troupe-lines-"));
  file = path.join(directory, "records.jsonl");
});
afterEach(() => fs.rm(directory, { recursive: true }));

test("lines that are appended are read back", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue())),
      async (records) => {
        await fs.rm(file, { force: true });
        for (const record of records) await appendLine(file, record);
        const read = (await readLines(file)).map((line) => line.value);
        expect(read).toEqual(records.map((record) => JSON.parse(JSON.stringify(record)) as unknown));
      },
    ),
    { numRuns: 15 },
  );
});

test("a file truncated at any byte keeps its complete lines, and the next writer appends to them", async () => {
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

test("lines of a file that is read in pieces are whole", async () => {
  const records = Array.from({ length: 7 }, (_, step) => ({ step, text: "✓".repeat(1_000_000) }));
  for (const record of records) await appendLine(file, record);
  const lines = await readLines(file);
  expect(lines.map(({ value }) => value)).toEqual(records);
  expect(lines.at(-1)?.end).toBe((await fs.stat(file)).size);
});

test("lines are kept up to the first rejected one", async () => {
  for (const step of [1, 2, 2, 3]) await appendLine(file, { step });
  const kept = await cutLines(file, (value) => Number(value["step"]) <= 2);
  expect(kept).toEqual([{ step: 1 }, { step: 2 }, { step: 2 }]);
  expect(await fs.readFile(file, "utf8")).toBe('{"step":1}\n{"step":2}\n{"step":2}\n');
});

test("a file that does not exist has no lines", async () => {
  expect(await readLines(file)).toEqual([]);
  expect(await cutLines(file, () => true)).toEqual([]);
});

test.each(["oops", "[1]", "null", "3"])(
  "a damaged line %j in the middle is named by file and line",
  async (line) => {
    await fs.writeFile(file, `{"step":1}\n${line}\n{"step":3}\n`);
    await expect(readLines(file)).rejects.toMatchObject({
      code: "bad_run",
      message: expect.stringContaining(`${file}:2`) as string,
    });
  },
);

test("a pipe in the place of a file is named, not waited for", async () => {
  execFileSync("mkfifo", [file]);
  await expect(readLines(file)).rejects.toMatchObject({
    code: "bad_run",
    message: expect.stringContaining("is a pipe or a device") as unknown,
  });
});
