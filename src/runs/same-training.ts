/** Whether two recipes train the same. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";

/** What changes nothing of the training. A run resumes where its recipe says something else of these. */
const besides: ReadonlySet<string> = new Set(["description", "expected", "record"]);

/** Of two texts of recipes, in YAML. A text that cannot be read is the same as itself alone. */
export function isSameTraining(one: string, other: string): boolean {
  return one === other || isDeepStrictEqual(...comparable(parsed(one), parsed(other)));
}

/**
 * Two recipes without what makes no difference to the training: what is said besides, and a module's hash. A module with the
 * same contents may lie elsewhere; one in the same place may have changed, which is warned of and does not end a run.
 */
export function comparable(one: unknown, other: unknown): readonly [unknown, unknown] {
  if (!isMapping(one) || !isMapping(other)) return [one, other];
  const moved = ["environment", "algorithm"].filter((key) => hasSameModule(one[key], other[key]));
  return [withoutWords(one, moved), withoutWords(other, moved)];
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasSameModule(one: unknown, other: unknown): boolean {
  if (!isMapping(one) || !isMapping(other)) return false;
  return one["moduleHash"] !== undefined && one["moduleHash"] === other["moduleHash"];
}

/** @param moved keys whose module may lie anywhere */
function withoutWords(recipe: Mapping, moved: readonly string[]): Mapping {
  const kept = Object.entries(recipe).filter(([key]) => !besides.has(key));
  return Object.fromEntries(
    kept.map(([key, value]) => [key, isMapping(value) ? withoutModule(value, moved.includes(key)) : value]),
  );
}

function withoutModule(settings: Mapping, isMoved: boolean): Mapping {
  const left = isMoved ? ["module", "moduleHash"] : ["moduleHash"];
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !left.includes(key)));
}

/** What a recipe in YAML says of the training, line by line, as it stands there; the first line is 1. */
export function trainingLines(recipe: string): readonly { readonly number: number; readonly line: string }[] {
  let key = "";
  return recipe.split("\n").flatMap((line, index) => {
    key = /^(\w+):/.exec(line)?.[1] ?? key;
    return besides.has(key) || /^ +moduleHash:/.test(line) ? [] : [{ number: index + 1, line }];
  });
}

function parsed(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return text;
  }
}
