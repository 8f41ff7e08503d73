import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { readVocabulary } from "../../text/vocabulary.ts";
import { readRows } from "./read-rows.ts";

const whole = gzipSync(
  Array.from({ length: 2000 }, (_, n) => JSON.stringify({ n, text: `${n * 7919}` })).join("\n"),
);
const place = mkdtempSync(join(tmpdir(), "troupe-damaged-"));

it.each([
  ["cut.jsonl.gz", whole.subarray(0, whole.length >> 1)],
  ["cut.json.gz", whole.subarray(0, whole.length >> 1)],
  ["no-archive.jsonl.gz", Buffer.from('{"a": 1}\n')],
  ["empty.jsonl.gz", Buffer.alloc(0)],
  ["hole.jsonl.gz", Buffer.concat([whole, Buffer.alloc(512), whole])],
  ["hole.json.gz", Buffer.concat([gzipSync('[{"a": 1}]'), Buffer.alloc(512)])],
])("a damaged archive is named: %s", async (name, bytes) => {
  const location = join(place, name);
  writeFileSync(location, bytes);
  const rows = (async () => {
    for await (const _ of readRows({ location, name }));
  })();
  await expect(rows).rejects.toMatchObject({ code: "bad_data", message: expect.stringContaining(location) });
});

it("two entries with one id are rejected with both", () => {
  const model = { vocab: { a: 0, b: 1, c: 1 } };
  expect(() => readVocabulary({ model, added_tokens: [] })).toThrow('"b" and "c" have the same id, 1');
});

it.each([
  ["rows.jsonl", '{"answer": 12345678901234567890123}\n'],
  ["rows.json", '[{"answer": 12345678901234567890123}]'],
])("a whole number of any length is read exactly: %s", async (name, text) => {
  const location = join(place, name);
  writeFileSync(location, text);
  const rows: unknown[] = [];
  for await (const row of readRows({ location, name })) rows.push(row);
  expect(rows).toEqual([{ value: { answer: 12345678901234567890123n } }]);
});
