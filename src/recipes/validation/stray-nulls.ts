/** `null` takes a key back. One that takes nothing back, under a key that nobody knows, is a slip of the pen. */
import { unknownKey } from "./explain.ts";
import type { Mistake } from "../mistakes.ts";
import type { JsonSchema } from "../shape.ts";
import { keysOf, schemaAt } from "../shape.ts";
import type { MappingTree, Path, Tree } from "../tree.ts";

/** Rejects what would otherwise vanish in silence: `{path:/models/mine}` is the key `path:/models/mine` with null. */
export function strayNulls(tree: MappingTree, schema: JsonSchema): readonly Mistake[] {
  return strayPaths(tree, schema).map((path) => unknownKey(path, schemaAt(schema, path.slice(0, -1)), tree));
}

function strayPaths(tree: MappingTree, schema: JsonSchema): readonly Path[] {
  if (!saysSomething(schema)) return [];
  const known = keysOf(schema);
  return [...tree.entries].flatMap(([key, { value }]): readonly Path[] => {
    if (isStray(value)) return known.includes(key) ? [] : [[key]];
    const inner = schemaAt(schema, [key]);
    if (value.kind !== "mapping" || inner === undefined) return [];
    return strayPaths(value, inner).map((path) => [key, ...path]);
  });
}

function isStray(value: Tree): boolean {
  return value.kind === "scalar" && value.value === null && value.takesBack !== true;
}

/** Options of an environment that does not exist: nothing is known of their keys. */
function saysSomething(schema: JsonSchema): boolean {
  return keysOf(schema).length > 0 || typeof schema.additionalProperties === "object";
}
