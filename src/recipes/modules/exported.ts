/** The export of a module that a recipe needs: the default, or the named one. */
import { didYouMean, unknownKey } from "../../nearest.ts";
import { ModuleError, loadModule } from "./load-module.ts";

/**
 * @param wanted the export's name; absent: the default export
 * @param what for messages: "an environment's definition"
 * @throws ModuleError if there is no such export
 */
export function exportOf(
  exported: Readonly<Record<string, unknown>>,
  given: string,
  wanted: string | undefined,
  what: string,
): unknown {
  const name = wanted ?? "default";
  if (Object.hasOwn(exported, name)) return exported[name];
  const names = Object.keys(exported).filter((each) => each !== "default");
  if (wanted === undefined) {
    const [only, another] = names;
    const fix =
      only === undefined
        ? `write \`export default …\` before ${what}`
        : `add \`export: ${another === undefined ? only : "NAME"}\`; it exports ${names.join(", ")}`;
    throw new ModuleError(`${given} has no default export`, fix);
  }
  const list = names.length === 0 ? "it exports nothing by name" : `it exports ${names.join(", ")}`;
  throw new ModuleError(`${given} has no export \`${wanted}\``, didYouMean(wanted, names) ?? list);
}

/** Names in a list, as in "`create` and `options`". */
export function listed(names: readonly string[]): string {
  return names
    .map((name) => `\`${name}\``)
    .join(", ")
    .replace(/, ([^,]*)$/, " and $1");
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object that YAML preserves. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isData);
}

function isData(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isData);
  if (typeof value === "object" && value !== null) return isPlain(value);
  return value === null || ["undefined", "boolean", "string", "number"].includes(typeof value);
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return `an object with ${listed(Object.keys(value)) || "no keys"}`;
  return typeof value === "function" ? "a function" : `a ${typeof value}`;
}

/**
 * Whether a module exports an environment, an algorithm or a kind of engine. Anything else counts as an environment, whose checks report
 * what is wrong.
 * @param folder that the module is relative to
 * @throws ModuleError if it cannot be loaded or has no such export
 */
export async function kindOfModule(
  module: string,
  exported: string | undefined,
  folder: string,
): Promise<"environment" | "algorithm" | "engine"> {
  const loaded = await loadModule(module, folder);
  const found = exportOf(loaded.exported, module, exported, "an environment's definition");
  if (!isObject(found)) return "environment";
  if (typeof found["build"] === "function") return "algorithm";
  return typeof found["open"] === "function" ? "engine" : "environment";
}

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
