import { assert, bigInt, double, json, property } from "fast-check";
import { expect, it } from "vitest";
import { compactJson, parseExactJson, parseWithBigInts, stringifyBigInts } from "./exact-json.ts";

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
