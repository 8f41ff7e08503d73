import { assert, json, property } from "fast-check";
import { expect, it } from "vitest";
import { endsInBrokenObject, objectsIn, repeatsKey } from "./json.ts";

it.each([
  ['{"a": 1, "a": 2}', true],
  ['[{"a": {"b": 1, "c": 2, "b": 3}}]', true],
  ['{"a": 1, "\\u0061": 2}', true],
  ['{"a": {"a": ":"}, "b": ["{:", {"a": 1}]}', false],
  ['{"__proto__": 1, "a": ":\\":"}', false],
  ['"a: b"', false],
])("%s repeats a key: %s", (text, expected) => {
  expect(repeatsKey(text)).toBe(expected);
});

it("no value that was written by JSON.stringify repeats a key", () => {
  assert(property(json(), (text) => !repeatsKey(JSON.stringify(JSON.parse(text)))));
});

it("objects are found with their text, and what follows them is looked at", () => {
  const text = 'one {"a": {"b": 1}} two {b} {"c": "}"} three';
  const found = objectsIn(text);
  expect(found.map((one) => one.text)).toEqual(['{"a": {"b": 1}}', '{"c": "}"}']);
  expect(found.map(({ value }) => value)).toEqual([{ a: { b: 1 } }, { c: "}" }]);
  expect(endsInBrokenObject(text, found)).toBe(false);
  for (const rest of [' {"d": 1', " {", " { ", " {'d': 1}", " {d: 1}"])
    expect(endsInBrokenObject(text + rest, objectsIn(text + rest))).toBe(true);
});
