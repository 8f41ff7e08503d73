/** What a published key sets in a recipe. */
import type { PythonValue } from "./python-literal.ts";

type Plain = Readonly<Record<string, unknown>>;

export interface Setting {
  readonly path: readonly string[];
  /** null: the key's default. */
  readonly value: PythonValue;
  /** `train.steps` in passes over the training split. */
  readonly unit?: "epochs";
}

export interface Translation {
  /** The recipe so far, as plain values. */
  readonly recipe: Plain;
  /** The recipe's files without overrides. */
  readonly base: Plain;
  /** The last value given for a published key. */
  readonly given: (key: string) => PythonValue | undefined;
}

export type Settings = (value: PythonValue, translation: Translation) => readonly Setting[];
export type Conversion = (value: PythonValue) => PythonValue;

/** A value that the published key does not accept. The message names what was expected. */
export class UnfitValue extends Error {}

/** The value of a recipe's key; undefined if it is absent. */
export function valueAt(recipe: Plain, path: string): unknown {
  return path.split(".").reduce<unknown>((found, key) => entriesOf(found)[key], recipe);
}

/** `NAME` is every policy, or every role. */
function pathsOf(path: string, recipe: Plain): readonly (readonly string[])[] {
  const [before, after] = path.split(".NAME.");
  if (after === undefined) return [path.split(".")];
  const names = Object.keys(entriesOf(valueAt(recipe, before ?? "")));
  return names.map((name) => [...(before ?? "").split("."), name, ...after.split(".")]);
}

function entriesOf(value: unknown): Plain {
  return typeof value === "object" && value !== null ? (value as Plain) : {};
}

/** The value, converted, at the path. */
export function to(path: string, convert: Conversion = (value) => value): Settings {
  return (value, { recipe }) => pathsOf(path, recipe).map((each) => ({ path: each, value: convert(value) }));
}
