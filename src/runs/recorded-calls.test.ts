import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { unrecordedCalls } from "../calls/recorded.ts";
import { openRecordedCalls } from "./recorded-calls.ts";

const folder = mkdtempSync(path.join(tmpdir(), "troupe-calls-"));
const file = path.join(folder, "calls.jsonl");
beforeEach(() => rmSync(file, { force: true }));
afterAll(() => rmSync(folder, { recursive: true }));

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
