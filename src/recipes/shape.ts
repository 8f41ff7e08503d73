/**
 * The schema as JSON Schema, and queries on it: the keys of a mapping, the schema at a path, a description of valid
 * values. Used by error messages, editor completion and the manual.
 */
import { z } from "zod";
import type { Path } from "./tree.ts";

/** The parts of JSON Schema that recipes use. */
export interface JsonSchema {
  /** The name of the whole document in messages. */
  readonly title?: string;
  readonly type?: string;
  readonly description?: string;
  /** The reason for the bounds, and what to do instead, for values beyond them. */
  readonly $comment?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
}

/** Describes the input, before defaults are filled in. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
}

/** The valid keys of a mapping, for a union those of all its branches; empty if any name is valid. */
export function keysOf(schema: JsonSchema | undefined): readonly string[] {
  return [...new Set([...Object.keys(schema?.properties ?? {}), ...(schema?.anyOf ?? []).flatMap(keysOf)])];
}

export function schemaAt(schema: JsonSchema, path: Path): JsonSchema | undefined {
  const [head, ...rest] = path;
  if (head === undefined) return schema;
  const child = childSchema(schema, head);
  if (child !== undefined) return schemaAt(child, rest);
  for (const branch of schema.anyOf ?? []) {
    const found = schemaAt(branch, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

function childSchema(schema: JsonSchema, part: string | number): JsonSchema | undefined {
  if (schema.type === "array") return schema.items;
  if (schema.properties && Object.hasOwn(schema.properties, part)) return schema.properties[part];
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
}

/** A description of valid values: "a whole number, at least 1". */
export function expectation(schema: JsonSchema): string {
  if (schema.anyOf) return alternatives(schema.anyOf);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum)
    return schema.enum.length === 1 ? String(schema.enum[0]) : `one of ${schema.enum.join(", ")}`;
  switch (schema.type) {
    case "integer":
      return `a whole number${bounds(schema)}`;
    case "number":
      return `a number${bounds(schema)}`;
    case "boolean":
      return "true or false";
    case "null":
      return "null";
    case "string":
      return schema.minLength ? "text, not empty" : "text";
    case "array":
      return `a list${size(schema)}, each item ${expectation(schema.items ?? {})}`;
    case "object":
      return mapping(schema);
    default:
      return "a value";
  }
}

/** Mappings that their `name` tells apart are listed by it: all their keys would hide which there are. */
function alternatives(branches: readonly JsonSchema[]): string {
  const named = branches.filter((branch) => branch.properties?.["name"]?.const !== undefined);
  if (named.length < 2) return branches.map(expectation).join(" or ");
  const others = branches.filter((branch) => !named.includes(branch)).map(expectation);
  return [...others, `a mapping whose name is one of ${namesIn(named).join(", ")}`].join(" or ");
}

/** Valid names: the values of an enumeration, and of `name` in mappings. */
export function namesIn(branches: readonly JsonSchema[]): readonly string[] {
  const names = branches.flatMap((branch) => [
    ...(branch.enum ?? [branch.const]),
    branch.properties?.["name"]?.const,
    ...namesIn(branch.anyOf ?? []),
  ]);
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

function mapping(schema: JsonSchema): string {
  const keys = keysOf(schema);
  if (keys.length === 0) return "a mapping from names";
  return `a mapping with the key${keys.length === 1 ? "" : "s"} ${keys.join(", ")}`;
}

function size(schema: JsonSchema): string {
  const { minItems = 0, maxItems = Infinity } = schema;
  if (minItems === maxItems) return ` of ${minItems}`;
  return minItems === 0 ? "" : ` of at least ${minItems}`;
}

function bounds(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  const lowest = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const highest = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (lowest !== undefined && highest !== undefined) return ` from ${lowest} to ${highest}`;
  const parts: string[] = [];
  if (lowest !== undefined) parts.push(`at least ${lowest}`);
  if (above !== undefined) parts.push(`above ${above}`);
  if (highest !== undefined) parts.push(`at most ${highest}`);
  if (below !== undefined) parts.push(`below ${below}`);
  return parts.length === 0 ? "" : `, ${parts.join(" and ")}`;
}
