/** Model files from anywhere may be damaged or malicious: each ends in an error, and none stops the process. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { readObject } from "./files.ts";
import { endingWithin } from "./patterns.ts";
import { changedTokenizer, fixtures } from "./testing/fixtures.ts";

function rendered(template: string): string {
  return changedTokenizer("qwen2", { "chat_template.jinja": template }).render([], true);
}

it.each([
  [
    "nested loops",
    "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}",
    "does not end",
  ],
  ["a long range", "{% for a in range(1000000000) %}{% endfor %}", "a range of 1000000000"],
  ["a range without end", "{{ range(0, 10, 0) }}", "a range of Infinity"],
  [
    "growing text",
    "{% set n = namespace(x='aaaaaaaa') %}{% for a in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    /a text or a list of length|does not end/,
  ],
  [
    "growing lists",
    "{% set n = namespace(x=[1, 2]) %}{% for a in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "a text or a list of length",
  ],
  ["recursion", "{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}", "call stack"],
])("a chat template with %s is rejected", (_, template, why) => {
  expect(() => rendered(template)).toThrowError(why);
});

it("a chat template may use ranges and what Jinja defines", () => {
  expect(rendered("{% for i in range(3) %}{{ i }}{% endfor %}{{ range(5, 1, -2) | length }}")).toBe("0122");
  expect(rendered("{{ true and True }} {{ false or False }} {{ none is none and None is none }}")).toBe(
    "true false true",
  );
});

interface TokenizerJson {
  pre_tokenizer: unknown;
  added_tokens: { id: number; content: string }[];
}

function changed(change: (json: TokenizerJson) => void): ReturnType<typeof changedTokenizer> {
  const json = JSON.parse(readFileSync(join(fixtures, "qwen2", "tokenizer.json"), "utf8")) as TokenizerJson;
  change(json);
  return changedTokenizer("qwen2", { "tokenizer.json": JSON.stringify(json) });
}

it.each([1e9, 1e8, 4e6])("an added token with id %d of a small vocabulary is rejected", (id) => {
  const widen = () => changed(({ added_tokens: added }) => void added.push({ id, content: "<|far|>" }));
  expect(widen).toThrowError(/the id of "<\|far\|>" is \d+; expected a whole number from 0 to/);
});

const rules = (count: number, content: string) =>
  changed((json) => {
    const rule = { type: "Replace", pattern: { String: "a" }, content };
    Object.assign(json, {
      normalizer: { type: "Sequence", normalizers: Array.from({ length: count }, () => rule) },
    });
  });

it("rules that make a text ever longer are rejected, and those that do not are many", () => {
  expect(() => rules(40, "aa")).toThrowError(/its normalizer can make a text 1\.1e\+12 times as long/);
  expect(rules(40, "a").encode("banana").length).toBeGreaterThan(0);
});

it.each(["pre_tokenizer", "decoder"])("rules of a %s are bounded likewise", (kind) => {
  const rule = { type: "Replace", pattern: { String: "a" }, content: "aa" };
  const list = kind === "decoder" ? "decoders" : "pretokenizers";
  const many = { type: "Sequence", [list]: Array.from({ length: 40 }, () => rule) };
  expect(() => changed((json) => Object.assign(json, { [kind]: many }))).toThrowError(
    new RegExp(`its ${kind} can make a text 1\\.1e\\+12 times as long`),
  );
});

it.each([
  [{ pattern: { String: "a" }, content: "$&" }, 'a rule that writes "$&", which is not supported'],
  [{ pattern: { Unknown: "a" }, content: "b" }, "a Replace whose pattern is neither a String nor a Regex"],
])("a rule that the library reads in its own way is rejected: %j", (rule, why) => {
  expect(() =>
    changed((json) => Object.assign(json, { normalizer: { type: "Replace", ...rule } })),
  ).toThrowError(why);
});

it("more rules than any tokenizer has are rejected", () => {
  expect(() => rules(1001, "a")).toThrowError("its normalizer has 1001 rules; at most 1000 are expected");
});

it("an entry that the file lists twice is rejected with both ids", () => {
  const text = readFileSync(join(fixtures, "qwen2", "tokenizer.json"), "utf8");
  const twice = text.replace(/"b":\s*(\d+)/, String.raw`"b": $1, "\u0062": 7`);
  expect(() => changedTokenizer("qwen2", { "tokenizer.json": twice })).toThrowError(
    /"b" has two ids, \d+ and 7/,
  );
});

it("a regular expression that never ends is ended", () => {
  const pattern = { Regex: "(\\p{L}+)+$" };
  const split = { type: "Split", pattern, behavior: "Isolated", invert: false };
  expect(endingWithin(200, () => /^(a+)+$/.test(`${"a".repeat(60)}b`))).toBeNull();
  expect(() => changed((json) => (json.pre_tokenizer = split)).encode(`${"a".repeat(60)}!`)).toThrowError(
    /tokenizer\.json has a regular expression that takes more than 20 s on a text \(\(\\p\{L\}\+\)\+\$\)/,
  );
}, 120_000);

it("a tokenizer with an expression of its own encodes and decodes", () => {
  const split = { type: "Split", pattern: { Regex: " ?[^ ]+" }, behavior: "Isolated", invert: false };
  const level = { type: "ByteLevel", add_prefix_space: false, use_regex: false };
  const tokenizer = changed((json) => {
    json.pre_tokenizer = { type: "Sequence", pretokenizers: [split, level] };
  });
  expect(tokenizer.decode(tokenizer.encode("hello world"))).toBe("hello world");
});

it("work under a time limit may contain such work", () => {
  expect(endingWithin(60_000, () => [endingWithin(60_000, () => 1), 2])).toEqual([1, 2]);
  expect(() =>
    endingWithin(60_000, () => {
      throw new Error("its own");
    }),
  ).toThrowError("its own");
});

it.skipIf(process.platform === "win32")("a pipe or a folder in place of a file is rejected, not read", () => {
  const directory = temporaryFolder();
  execFileSync("mkfifo", [join(directory, "config.json")]);
  execFileSync("mkdir", [join(directory, "tokenizer.json")]);
  expect(() => readObject(directory, "config.json")).toThrowError("is a pipe or a device; expected a file");
  expect(() => readObject(directory, "tokenizer.json")).toThrowError("is a folder; expected a file");
});

it("a tokenizer that is nested 10,000 levels deep is rejected by name", () => {
  const directory = temporaryFolder();
  const nested = `${'{"type":"Sequence","normalizers":['.repeat(10_000)}${"]}".repeat(10_000)}`;
  writeFileSync(join(directory, "deep.json"), `{"normalizer":${nested}}`);
  expect(() => readObject(directory, "deep.json")).toThrowError(
    expect.objectContaining({ code: "bad_model", message: expect.stringContaining("nested too deeply") }),
  );
});
