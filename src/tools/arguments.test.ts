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

it("a schema that refers to itself without end is left to its server", () => {
  expect(checkerOf({ type: "object", properties: { a: { $ref: "#/properties/a" } } })({ a: 1 })).toBeNull();
});
