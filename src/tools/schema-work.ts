/** How much work a server's schema can ask for. References may repeat parts of it, or never end. */
import { isTooDeep, type JsonObject } from "../text/files.ts";

/** Parts of a schema that are checked, with those that are referred to counted each time. */
const mostParts = 10_000;

/**
 * Whether a check of one value takes bounded time and stack. A schema that refers to itself does not: with two
 * references, each level of a value would double the work.
 */
export function hasBoundedWork(schema: JsonObject): boolean {
  if (isTooDeep(schema)) return false;
  const known = new Map<object, number>();
  const partsOf = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 0;
    const before = known.get(value);
    if (before !== undefined) return before;
    // Found again while its parts are counted: it contains itself.
    known.set(value, Infinity);
    const { $ref: reference } = value as { readonly $ref?: unknown };
    let parts = 1;
    if (typeof reference === "string") parts += targetOf(schema, reference, partsOf);
    for (const part of Object.values(value)) parts += partsOf(part);
    known.set(value, parts);
    return parts;
  };
  return partsOf(schema) <= mostParts;
}

function targetOf(schema: JsonObject, reference: string, partsOf: (value: unknown) => number): number {
  if (!reference.startsWith("#")) return Infinity;
  let found: unknown = schema;
  for (const step of reference.slice(1).split("/").filter(Boolean)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return Infinity;
    found = (found as JsonObject)[name];
  }
  return partsOf(found);
}
