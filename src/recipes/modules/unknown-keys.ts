/** Keys of a module's objects that nothing reads: what they were meant to change would be missing without a word. */
import { unknownKey } from "../../nearest.ts";
import { isObject } from "./exported.ts";
import { ModuleError } from "./load-module.ts";

/** `true`: anything. `every`: of a list, or of a mapping from names. */
export type Keys = true | { readonly every: Keys } | { readonly [key: string]: Keys };

/** Every key of a type, so that none is forgotten here. */
export type Complete<Type> = Readonly<Record<keyof Type, Keys>>;

/** @param given the module as named in the recipe @throws ModuleError with every unknown key and its place */
export function rejectUnknown(value: unknown, keys: Keys, given: string, what = ""): void {
  const found = unknownKeys(value, keys, []);
  if (found.length === 0) return;
  throw new ModuleError(`${given}: ${what}${found.join("; ")}`, "correct or remove it");
}

/** Of plain objects: what else an instance of a class has is its own affair. */
function unknownKeys(value: unknown, keys: Keys, at: readonly string[]): readonly string[] {
  if (keys === true || typeof value !== "object" || value === null) return [];
  if (isEvery(keys))
    return Object.entries(value).flatMap(([name, one]) => unknownKeys(one, keys.every, [...at, name]));
  if (!isLiteral(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const inside = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (inside !== undefined) return unknownKeys(one, inside, [...at, key]);
    const place = at.length === 0 ? "" : `${at.join(".")}: `;
    return [`${place}${unknownKey(key, Object.keys(keys))}`];
  });
}

function isEvery(keys: Exclude<Keys, true>): keys is { readonly every: Keys } {
  return Object.hasOwn(keys, "every");
}

function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return isObject(value) && (prototype === Object.prototype || prototype === null);
}
