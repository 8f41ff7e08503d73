/** Checks the arguments of a call against the tool's JSON schema. */
import { z } from "zod";
import { showText } from "../format.ts";
import type { JsonObject } from "../text/files.ts";
import type { Tool } from "../text/messages.ts";
import { hasBoundedWork } from "./schema-work.ts";

const longestProblem = 400;

/**
 * The schema is read at the first call: a server may list many tools that nobody calls.
 * @returns what is wrong with the arguments; null: nothing, or the schema has parts that only its server can check
 */
export function argumentChecker({ parameters }: Tool): (given: JsonObject) => string | null {
  let schema: z.ZodType | null | undefined;
  return (given) => {
    if (schema === undefined) schema = schemaOf(parameters ?? { type: "object" });
    const parsed = schema?.safeParse(given);
    if (parsed === undefined || parsed.success) return null;
    return showText(parsed.error.issues.map(describe).join("; "), longestProblem);
  };
}

function schemaOf(schema: JsonObject): z.ZodType | null {
  if (!hasBoundedWork(schema)) return null;
  try {
    return z.fromJSONSchema(withoutPatterns(schema));
  } catch {
    return null;
  }
}

/** Members of a schema that contain schemas by names of their own. */
const named = ["properties", "$defs", "definitions", "dependentSchemas"];
/** Members that are values, whatever they look like. */
const values = ["const", "enum", "default", "examples"];

/**
 * Without regular expressions: a server's may take longer than the run on what a model writes. The server checks them.
 * @throws Error for names by regular expressions, without which other names could not be checked
 */
function withoutPatterns(schema: JsonObject): JsonObject {
  if ("patternProperties" in schema) throw new Error("names by regular expressions are not checked");
  const kept = Object.entries(schema).filter(([name]) => name !== "pattern");
  return mapped(kept, (name, value) => {
    if (values.includes(name)) return value;
    if (named.includes(name) && isObject(value)) return mapped(Object.entries(value), (_, one) => inner(one));
    return inner(value);
  });
}

function inner(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inner);
  return isObject(value) ? withoutPatterns(value) : value;
}

function mapped(
  entries: readonly (readonly [string, unknown])[],
  change: (name: string, value: unknown) => unknown,
): JsonObject {
  return Object.fromEntries(entries.map(([name, value]) => [name, change(name, value)]));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
