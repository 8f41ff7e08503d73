/** Whether two recipes train the same. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";

/** What a recipe tells people. A run goes on when it was worded anew, or when its numbers were measured since. */
const forPeople: ReadonlySet<string> = new Set(["description", "expected"]);

/** @param one recipe in YAML; also what is no recipe, which equals itself alone */
export function isSameTraining(one: string, other: string): boolean {
  return one === other || isDeepStrictEqual(trained(one), trained(other));
}

/** A recipe's keys that are not for people; anything else as it is. */
export function withoutWords(recipe: unknown): unknown {
  if (typeof recipe !== "object" || recipe === null || Array.isArray(recipe)) return recipe;
  return Object.fromEntries(Object.entries(recipe).filter(([key]) => !forPeople.has(key)));
}

function trained(text: string): unknown {
  try {
    return withoutWords(parse(text));
  } catch {
    return text;
  }
}
