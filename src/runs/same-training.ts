/** Whether two recipes train the same. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";

/** What changes nothing of the training. A run resumes where its recipe says something else of these. */
const besides: ReadonlySet<string> = new Set(["description", "expected", "record"]);

/** Of a judge: where its program runs, how long it may take and how much of it at once. Its verdicts do not depend on them. */
const forPrograms: ReadonlySet<string> = new Set([
  "directory",
  "env",
  "timeoutSeconds",
  "concurrency",
  "batch",
]);

/** Of two texts of recipes, in YAML. A text that cannot be read is the same as itself alone. */
export function isSameTraining(one: string, other: string): boolean {
  return one === other || isDeepStrictEqual(...comparable(parsed(one), parsed(other)));
}

/**
 * Two recipes without what makes no difference to the training: what is said besides, how a judge's program is run, and a
 * module's hash. A module with the same contents may lie elsewhere; one in the same place may have changed, which is warned
 * of and does not end a run.
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
    kept.map(([key, value]) => {
      if (!isMapping(value)) return [key, value];
      return [key, key === "judge" ? withoutProgram(value) : withoutModule(value, moved.includes(key))];
    }),
  );
}

function withoutModule(settings: Mapping, isMoved: boolean): Mapping {
  return without(settings, new Set(isMoved ? ["module", "moduleHash"] : ["moduleHash"]));
}

/** A judge's options without those that its verdicts do not depend on. */
export function withoutProgram(judge: Mapping): Mapping {
  return without(judge, forPrograms);
}

function without(settings: Mapping, left: ReadonlySet<string>): Mapping {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !left.has(key)));
}

/** What a recipe in YAML says of the training, line by line, as it stands there; the first line is 1. */
export function trainingLines(recipe: string): readonly { readonly number: number; readonly line: string }[] {
  let key = "";
  return recipe.split("\n").flatMap((line, index) => {
    key = /^(\w+):/.exec(line)?.[1] ?? key;
    const inner = /^ {2}(\w+):/.exec(line)?.[1] ?? "";
    const isLeft = inner === "moduleHash" || (key === "judge" && forPrograms.has(inner));
    return besides.has(key) || isLeft ? [] : [{ number: index + 1, line }];
  });
}

function parsed(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return text;
  }
}
