/** Whether two recipes train the same. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";

/** What a recipe tells people. A run goes on when it was worded anew, or when its numbers were measured since. */
const forPeople: ReadonlySet<string> = new Set(["description", "expected"]);

/** Of two texts of recipes, in YAML. A text that cannot be read is the same as itself alone. */
export function isSameTraining(one: string, other: string): boolean {
  return one === other || isDeepStrictEqual(trained(one), trained(other));
}

/** A recipe's keys that are not for people; anything else as it is. */
export function withoutWords(recipe: unknown): unknown {
  if (typeof recipe !== "object" || recipe === null || Array.isArray(recipe)) return recipe;
  return Object.fromEntries(Object.entries(recipe).filter(([key]) => !forPeople.has(key)));
}

/** What a recipe in YAML says of the training, line by line, as it stands there; the first line is 1. */
export function trainingLines(recipe: string): readonly { readonly number: number; readonly line: string }[] {
  let key = "";
  return recipe.split("\n").flatMap((line, index) => {
    key = /^(\w+):/.exec(line)?.[1] ?? key;
    return forPeople.has(key) ? [] : [{ number: index + 1, line }];
  });
}

function trained(text: string): unknown {
  try {
    return withoutWords(parse(text));
  } catch {
    return text;
  }
}
