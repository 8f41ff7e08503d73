import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parquetWriteBuffer } from "hyparquet-writer";
import { assert, bigInt, double, json, property } from "fast-check";
import { temporaryFolder } from "../../models/test-model.ts";
import { rowPortions } from "./parquet-rows.ts";
import { readParquet } from "./parquet.ts";
import { readRows } from "./read-rows.ts";
import type { ReadRow } from "./row.ts";
import { readVocabulary } from "../../text/vocabulary.ts";
import { compactJson, parseExactJson, parseWithBigInts, stringifyBigInts } from "../exact-json.ts";

const folder = temporaryFolder();

function file(name: string, contents: string | Buffer): { location: string; name: string } {
  const location = path.join(folder, `contents-of-${name.replaceAll("/", "-")}`);
  writeFileSync(location, contents);
  return { location, name };
}

async function all(rows: AsyncIterable<ReadRow>): Promise<ReadRow[]> {
  const found: ReadRow[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

const readAll = (name: string, contents: string | Buffer) => all(readRows(file(name, contents)));

describe("JSON lines", () => {
  it("reads rows across chunks of a file, without carriage returns and empty lines", async () => {
    const long = "x".repeat(3 << 20);
    const text = `{"a":1}\r\n\n{"a":"${long}"}\n{"a":"é\u2028"}`;
    expect(await readAll("a.jsonl", text)).toEqual([
      { value: { a: 1 } },
      { value: { a: long } },
      { value: { a: "é\u2028" } },
    ]);
  });

  it("reads archives, a byte-order mark, and lines in files called .json", async () => {
    expect(await readAll("a.jsonl.gz", gzipSync('{"a":1}\n{"a":2}\n'))).toEqual([
      { value: { a: 1 } },
      { value: { a: 2 } },
    ]);
    expect(await readAll("a.json", '\ufeff{"a":1}\n{"a":2}')).toHaveLength(2);
  });

  it("a line that is not an object is a malformed row; later lines are read", async () => {
    const rows = await readAll(
      "b.jsonl",
      Buffer.from('{"a":1}\n{"a":\n[1]\n"text"\n\xff\n{"a":2}\n', "latin1"),
    );
    expect(rows.map((row) => ("malformed" in row ? row.malformed : row.value))).toEqual([
      { a: 1 },
      expect.stringMatching(/^no JSON: /) as string,
      "expected a JSON object",
      "expected a JSON object",
      expect.stringMatching(/^no JSON: .*utf-8/) as string,
      { a: 2 },
    ]);
  });
});

describe("JSON arrays", () => {
  it("reads objects; anything else is a malformed row", async () => {
    expect(await readAll("a.json", ' [{"a":1}, 2]')).toEqual([
      { value: { a: 1 } },
      { malformed: "expected a JSON object" },
    ]);
    expect(await readAll("a.json.gz", gzipSync('[{"a":1}]'))).toEqual([{ value: { a: 1 } }]);
  });

  it("a text that many rows share is not sent with all of them at once", async () => {
    const data = Array.from({ length: 50 }, () => "a".repeat(2 ** 22));
    const bytes = parquetWriteBuffer({ columnData: [{ name: "text", data, type: "STRING" }] });
    const { location } = file("shared.parquet", Buffer.from(bytes));
    const sizes: number[] = [];
    for await (const portion of rowPortions(location)) sizes.push(portion.length);
    expect(sizes).toEqual([15, 15, 15, 5]);
  });

  it("names the damaged file", async () => {
    await expect(readAll("d.json", '[{"a":1},')).rejects.toThrow(/d\.json: no JSON: /);
  });
});

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}.parquet`, import.meta.url));

describe("parquet", () => {
  const rows = [
    {
      name: "a",
      count: 1,
      share: 0.5,
      texts: ["x", "y"],
      tests: { input: ["1\n", "2\n"], output: ["3\n", "4\n"] },
    },
    { name: "b", count: Number.MAX_SAFE_INTEGER, share: 1, texts: [], tests: { input: [], output: [] } },
    { name: null, count: "4611686018427387904", share: -2.25 },
    { name: "dé", count: null, share: null, texts: ["z"], tests: { input: ["5\n"], output: ["6\n"] } },
  ];
  const times = ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:01.000Z", null, "1970-01-01T00:00:02.000Z"];
  it.each(["none", "snappy", "gzip", "brotli", "zstd", "lz4", "pages-2"])(
    "reads what pyarrow writes: %s",
    async (name) => {
      const found = await all(readParquet(fixture(name)));
      const long = "lorem ipsum ".repeat(50);
      expect(found).toEqual(rows.map((row, index) => ({ value: { ...row, long, at: times[index] } })));
    },
  );

  it("reads only the requested columns that exist", async () => {
    const found = await all(readParquet(fixture("snappy"), ["count", "missing"]));
    const keys = found.flatMap((row) => ("value" in row ? Object.keys(row.value) : []));
    expect(keys).toEqual(["count", "count", "count", "count"]);
  });

  it("a damaged file on which the decoder loops is an error", async () => {
    const bytes = readFileSync(fixture("pages-2")).with(1448, 0x97);
    const { location } = file("endless.parquet", Buffer.from(bytes));
    await expect(all(readParquet(location, undefined, 1500))).rejects.toThrow(
      /cannot be read as a parquet file: nothing was decoded in 2 seconds/,
    );
  });

  it("a compression that is not known is an error that names it", async () => {
    const bytes = readFileSync(fixture("gzip"));
    // The codec, field 4 of a column's metadata, in the footer: GZIP is 2, LZO 3, written as twice the number.
    const footer = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
    const lzo = Buffer.from(bytes);
    for (let at = footer; at < bytes.length - 8; at++)
      if (bytes[at] === 0x15 && bytes[at + 1] === 0x04 && bytes[at + 2] === 0x16) lzo[at + 1] = 0x06;
    const { location } = file("lzo.parquet", lzo);
    await expect(all(readParquet(location))).rejects.toThrow(
      /lzo\.parquet cannot be read as a parquet file: .*LZO/,
    );
  });

  it("a file whose columns differ from its schema is an error", async () => {
    const bytes = readFileSync(fixture("snappy"));
    const at = bytes.lastIndexOf("share");
    const { location } = file("renamed.parquet", Buffer.from(bytes.with(at, "x".charCodeAt(0))));
    await expect(all(readParquet(location))).rejects.toMatchObject({ code: "bad_data" });
  });

  it("names the damaged file", async () => {
    await expect(readAll("e.parquet", "PAR1 something else")).rejects.toThrow(
      /e\.parquet cannot be read as a parquet file: /,
    );
  });
});

it("pointers of Git LFS and unknown kinds of files say what to do", async () => {
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
  await expect(readAll("train.jsonl", pointer)).rejects.toThrow(
    /train\.jsonl .* is a pointer of Git LFS.*git lfs pull/,
  );
  await expect(readAll("train.csv", "a,b")).rejects.toThrow(
    /train\.csv: data files of this kind are not read; expected/,
  );
});

const whole = gzipSync(
  Array.from({ length: 2000 }, (_, n) => JSON.stringify({ n, text: `${n * 7919}` })).join("\n"),
);

it.each([
  ["cut.jsonl.gz", whole.subarray(0, whole.length >> 1)],
  ["cut.json.gz", whole.subarray(0, whole.length >> 1)],
  ["no-archive.jsonl.gz", Buffer.from('{"a": 1}\n')],
  ["empty.jsonl.gz", Buffer.alloc(0)],
  ["hole.jsonl.gz", Buffer.concat([whole, Buffer.alloc(512), whole])],
  ["hole.json.gz", Buffer.concat([gzipSync('[{"a": 1}]'), Buffer.alloc(512)])],
])("a damaged archive is named: %s", async (name, bytes) => {
  const { location } = file(name, bytes);
  const rows = all(readRows({ location, name }));
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
  expect(await readAll(name, text)).toEqual([{ value: { answer: 12345678901234567890123n } }]);
});

it("numbers are written as they were read", () => {
  const text = "[1.0,12345678901234567890,1e5,-0.0,0.1,1E-7,3]";
  expect(compactJson(` ${text.replaceAll(",", " , ")} `)).toBe(text);
});

it("everything else is as in JSON.parse", () => {
  assert(
    property(json(), (text) => {
      expect(JSON.parse(compactJson(text))).toEqual(JSON.parse(text));
    }),
  );
});

it("integers of any size and doubles survive", () => {
  assert(
    property(bigInt(), double({ noNaN: true, noDefaultInfinity: true }), (integer, number) => {
      const text = `{"a":${integer},"b":${JSON.stringify(number)}}`;
      expect(compactJson(text)).toBe(text);
    }),
  );
});

it("numbers that fit are numbers", () => {
  expect(parseExactJson('{"a":[1,0.5,"x",null]}')).toEqual({ a: [1, 0.5, "x", null] });
  expect(() => parseExactJson("[NaN]")).toThrow(SyntaxError);
});

it("whole numbers of rows keep their digits", () => {
  const text = '{"answer":12345678901234567890123,"cases":[[9007199254740993,-9007199254740993,1.5]],"n":3}';
  expect(parseWithBigInts(text)).toEqual({
    answer: 12345678901234567890123n,
    cases: [[9007199254740993n, -9007199254740993n, 1.5]],
    n: 3,
  });
  expect(stringifyBigInts(parseWithBigInts(text))).toBe(text);
});
