/** Finds a published key in the table and converts its value. */
import { TroupeError } from "../../errors.ts";
import { didYouMean, nearestName } from "../../nearest.ts";
import { RecipeError, type Mistake } from "../mistakes.ts";
import type { Origin } from "../tree.ts";
import type { Warning } from "../validation/warnings.ts";
import { UnfitValue, type Setting, type Translation } from "./conversions.ts";
import { publishedHeads, publishedKeys, type PublishedKey } from "./keys.ts";
import { pythonValue, type PythonValue } from "./python-literal.ts";

/** A published key with its value. */
export interface PublishedValue {
  readonly origin: Origin;
  /** As written. */
  readonly key: string;
  readonly value: PythonValue;
}

export function isPublished(path: readonly string[]): boolean {
  return publishedHeads.includes(path[0] ?? "");
}

/** A mapping of keys is several values. @throws RecipeError for the YAML words that are text in Python */
export function readPublished(
  origin: Origin,
  path: readonly string[],
  text: string,
): readonly PublishedValue[] {
  const python = { true: "True", false: "False", null: "None" }[text.trim()];
  if (python !== undefined) {
    const fix = `write ${path.join(".")}=${python}`;
    throw mistake(
      origin,
      path.join("."),
      `values of published keys are Python, where ${text.trim()} is text`,
      fix,
    );
  }
  return valuesIn(origin, path, pythonValue(text));
}

export function valuesIn(
  origin: Origin,
  path: readonly string[],
  value: PythonValue,
): readonly PublishedValue[] {
  const key = path.join(".");
  const isMapping = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isMapping || findKey(key) !== undefined) return [{ origin, key, value }];
  return Object.entries(value).flatMap(([inner, each]) => valuesIn(origin, [...path, inner], each));
}

/** `grpo.num_turns` and `magrpo.num_turns` mean the same. */
export function canonical(key: string): string {
  return key.replace(/^grpo(?=\.|$)/, "magrpo");
}

export interface Translated {
  readonly settings: readonly Setting[];
  readonly warnings: readonly Warning[];
}

/** @throws RecipeError for an unknown key, or a value that the key does not accept */
export function translate({ origin, key, value }: PublishedValue, translation: Translation): Translated {
  const found = findKey(canonical(key));
  if (found === undefined) throw mistake(origin, key, "unknown key", nearest(key));
  const { settings, unless, note } = found;
  if (settings === undefined) return { settings: [], warnings: [withoutEffect(key, note)] };
  if (unless !== undefined && translation.given(unless) !== undefined) return { settings: [], warnings: [] };
  try {
    return { settings: settings(value, translation), warnings: [] };
  } catch (error) {
    if (!(error instanceof UnfitValue) && !(error instanceof TroupeError)) throw error;
    throw mistake(origin, key, `${error.message}, found ${JSON.stringify(value)}`);
  }
}

function withoutEffect(key: string, note: string): Warning {
  return { key, problem: `has no effect: ${note}`, fix: "remove it" };
}

/** A row without effect covers the keys below it: `wandb.project`. */
function findKey(key: string): PublishedKey | undefined {
  const name = canonical(key);
  return publishedKeys.find(({ names, settings }) =>
    names.some((each) => each === name || (settings === undefined && name.startsWith(`${each}.`))),
  );
}

const names = publishedKeys.flatMap((row) => row.names);

function nearest(key: string): string {
  const [head = "", ...rest] = key.split(".");
  const section = names.filter((name) => name.startsWith(`${canonical(head)}.`));
  const inside = section.map((name) => name.slice(name.indexOf(".") + 1));
  const listed = `its keys are ${inside.map((name) => `${head}.${name}`).join(", ")}`;
  const hint = rest.length === 0 ? undefined : nearestName(rest.join("."), inside);
  return hint === undefined ? listed : `did you mean \`${head}.${hint}\`?`;
}

/** For a key that is neither ours nor published: the published one that was probably meant. */
export function publishedSuggestion(path: readonly string[], ours: readonly string[]): string | undefined {
  const [head = ""] = path;
  if (ours.includes(head)) return undefined;
  const short = names.find((name) => path.length === 1 && name.split(".").at(-1) === head);
  if (short !== undefined) return `did you mean \`${short}\`?`;
  const isNear = didYouMean(head, ours) === undefined && didYouMean(head, publishedHeads) !== undefined;
  return isNear ? didYouMean(path.join("."), names) : undefined;
}

export function mistake(origin: Origin, key: string, problem: string, fix?: string): RecipeError {
  const found: Mistake = { origin, key, problem, ...(fix === undefined ? {} : { fix }) };
  return new RecipeError([found]);
}
