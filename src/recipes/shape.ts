/**
 * The schema as JSON Schema, and what can be read off it: the keys of a mapping, the schema at a path, what a value must
 * be, in words. Errors, editor completion and the manual all come from here.
 */
import { z } from "zod";
import type { Path } from "./tree.ts";

/** The parts of JSON Schema that recipes use. */
export interface JsonSchema {
  /** What the whole document is called in messages. */
  readonly title?: string;
  readonly type?: string;
  readonly description?: string;
  /** Why the bounds are as they are, and what to do instead; for whoever went past them. */
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

/** What may be written, defaults not yet filled in. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
}

/** The valid keys of a mapping, of a union those of all its branches; none where any name will do. */
export function keysOf(schema: JsonSchema | undefined): readonly string[] {
  return [...Object.keys(schema?.properties ?? {}), ...(schema?.anyOf ?? []).flatMap(keysOf)];
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

/** What a value must be, in words: "a whole number, at least 1". */
export function expectation(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(expectation).join(" or ");
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
