/** The keys in which recipes differ. */
import { isDeepStrictEqual } from "node:util";
import { showKey } from "./tree.ts";

export interface RecipeDifference {
  /** `train.steps` */
  readonly key: string;
  /** One value per recipe; undefined: absent. */
  readonly values: readonly [unknown, unknown];
}

/** Mappings are compared key by key, other values as a whole. */
export function differences(left: unknown, right: unknown, path: readonly string[] = []): RecipeDifference[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (!isMapping(left) || !isMapping(right)) return [{ key: showKey(path), values: [left, right] }];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return keys.flatMap((key) => differences(left[key], right[key], [...path, key]));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
