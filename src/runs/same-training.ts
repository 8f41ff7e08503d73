/** Whether two recipes train the same way. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";

/** Keys without effect on the training. A run resumes if only these differ. */
export const incidentalKeys: ReadonlySet<string> = new Set([
  "description",
  "expected",
  "rollout",
  "watch",
  "record",
  "logging",
]);

/** Options of the recipe's judge that do not change the training. */
export type Incidental = ReadonlySet<string>;

const none: Incidental = new Set();

/** For two recipes as YAML. An unreadable text equals only itself. */
export function isSameTraining(one: string, other: string, incidental = none): boolean {
  return one === other || isDeepStrictEqual(...comparable(parsed(one), parsed(other), incidental));
}

/**
 * Two recipes without what does not affect the training: metadata, how a judge's program runs, and a module's hash. A
 * module with the same contents may be in another place; one in the same place may have changed, which gives a warning
 * and does not stop a run.
 */
export function comparable(one: unknown, other: unknown, incidental = none): readonly [unknown, unknown] {
  if (!isMapping(one) || !isMapping(other)) return [one, other];
  const moved = ["environment", "algorithm", "engine"].filter((key) => hasSameModule(one[key], other[key]));
  return [withoutWords(one, moved, incidental), withoutWords(other, moved, incidental)];
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasSameModule(one: unknown, other: unknown): boolean {
  if (!isMapping(one) || !isMapping(other)) return false;
  return one["moduleHash"] !== undefined && one["moduleHash"] === other["moduleHash"];
}

/** @param moved keys whose module may be anywhere */
function withoutWords(recipe: Mapping, moved: readonly string[], incidental: Incidental): Mapping {
  const kept = Object.entries(recipe).filter(([key]) => !incidentalKeys.has(key));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (!isMapping(value)) return [key, value];
      return [key, key === "judge" ? without(value, incidental) : withoutModule(value, moved.includes(key))];
    }),
  );
}

function withoutModule(settings: Mapping, isMoved: boolean): Mapping {
  return without(settings, new Set(isMoved ? ["module", "moduleHash"] : ["moduleHash"]));
}

/** The settings without the given keys. */
export function without(settings: Mapping, left: ReadonlySet<string>): Mapping {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !left.has(key)));
}

/** What a recipe as YAML says about the training, line by line; the first line is 1. */
export function trainingLines(
  recipe: string,
  incidental = none,
): readonly { readonly number: number; readonly line: string }[] {
  let key = "";
  return recipe.split("\n").flatMap((line, index) => {
    key = /^(\w+):/.exec(line)?.[1] ?? key;
    const inner = /^ {2}(\w+):/.exec(line)?.[1] ?? "";
    const isLeft = inner === "moduleHash" || (key === "judge" && incidental.has(inner));
    return incidentalKeys.has(key) || isLeft ? [] : [{ number: index + 1, line }];
  });
}

function parsed(text: string): unknown {
  try {
    return parse(text, { logLevel: "error" }) as unknown;
  } catch {
    return text;
  }
}
