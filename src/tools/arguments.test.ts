import { expect, it } from "vitest";
import { argumentChecker } from "./arguments.ts";

const checkerOf = (parameters: object) =>
  argumentChecker({ name: "tool", parameters: parameters as Record<string, unknown> });

it("a server's regular expressions are not run", () => {
  const endless = { type: "string", pattern: "^(a+)+$" };
  const problemOf = checkerOf({
    type: "object",
    properties: { pattern: endless, list: { type: "array", items: endless } },
    required: ["pattern"],
    additionalProperties: false,
  });
  const slow = `${"a".repeat(50)}!`;
  expect(problemOf({ pattern: slow, list: [slow] })).toBeNull();
  expect(problemOf({ list: [] })).toMatch(/^pattern: /);
  expect(problemOf({ pattern: "a", other: 1 })).toMatch(/other/);
  expect(checkerOf({ type: "object", patternProperties: { "^(a+)+$": {} } })({ [slow]: 1 })).toBeNull();
});

it.each([
  ["itself", { $ref: "#" }],
  ["a part that is itself", { properties: { a: { $ref: "#/properties/a" } } }],
  [
    "a definition of itself",
    { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } },
  ],
  [
    "two that refer to each other",
    {
      properties: { a: { $ref: "#/$defs/a" } },
      $defs: {
        a: { anyOf: [{ type: "string" }, { $ref: "#/$defs/b" }] },
        b: { allOf: [{ $ref: "#/$defs/a" }] },
      },
    },
  ],
  ["itself at every level of a value", { properties: { a: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } } }],
])("a schema that refers to %s is left to its server", (_, schema) => {
  expect(checkerOf({ type: "object", ...schema })({ a: 1 })).toBeNull();
});

/** A definition that refers to the next one twice. */
function twice(next: number): object {
  const reference = { $ref: `#/$defs/${next}` };
  return { allOf: [reference, reference] };
}

it("a schema whose references multiply is left to its server", () => {
  const parts = Array.from({ length: 30 }, (_, index) => [index, twice(index + 1)] as const);
  const $defs = { ...Object.fromEntries(parts), 30: { type: "string" } };
  const properties = { a: { $ref: "#/$defs/0" } };
  expect(checkerOf({ type: "object", properties, $defs })({ a: 1 })).toBeNull();
});

it("a reference to another part is followed", () => {
  const problemOf = checkerOf({
    type: "object",
    properties: { a: { $ref: "#/$defs/word" }, b: { $ref: "#/$defs/word" } },
    $defs: { word: { type: "string" } },
  });
  expect(problemOf({ a: "x", b: "y" })).toBeNull();
  expect(problemOf({ a: "x", b: 1 })).toMatch(/^b: /);
});
