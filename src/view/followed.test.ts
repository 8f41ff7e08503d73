import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { FollowedFile, lastLine } from "./followed.ts";

const root = temporaryFolder();
let [file, number] = ["", 0];
let records: object[] = [];
let followed: FollowedFile;
beforeEach(() => {
  file = path.join(root, `${number++}.jsonl`);
  records = [];
  followed = new FollowedFile(file, {
    reset: () => (records.length = 0),
    add: ({ record }) => records.push(record),
  });
});

it("passes on complete lines, and waits for the line feed of the last", async () => {
  expect(await followed.refresh()).toBe(false);
  await fs.writeFile(file, '{"a":1}\n{"a":2');
  expect([await followed.refresh(), records]).toEqual([true, [{ a: 1 }]]);
  await fs.appendFile(file, "}\n");
  expect([await followed.refresh(), records]).toEqual([true, [{ a: 1 }, { a: 2 }]]);
});

it.each(["no json", "null", "[]", "3", ""])("says that a last line is damaged: %j", async (line) => {
  await fs.writeFile(file, `{"a":1}\n${line}\n`);
  await expect(followed.refresh()).rejects.toThrow(`${file}:2 is not what a run writes there`);
  expect(records).toEqual([{ a: 1 }]);
  await fs.writeFile(file, '{"a":1}\n{"a":2}\n');
  expect([await followed.refresh(), records]).toEqual([true, [{ a: 1 }, { a: 2 }]]);
});

it.each([
  ["folder", () => fs.mkdir(file)],
  ["pipe", async () => execFileSync("mkfifo", [file])],
])("says that a %s is no file", async (_, make) => {
  await make();
  await expect(followed.refresh()).rejects.toThrow("expected a file");
  await expect(lastLine(file)).rejects.toThrow("expected a file");
});
