/** The tester's case: a list of one number, and what the program has to return for it. */
import type { GeneratedTest } from "../code/coder-tester/state.ts";
import type { ListAnswer } from "../list-programs/operations.ts";
import { caseNumbers } from "./task.ts";

export interface ListCase {
  readonly number: number;
  readonly result: ListAnswer;
}

const written = /^\s*assert\s+solve\s*\(\s*\[\s*(\d+)\s*\]\s*\)\s*==\s*(-?\d+|\[[-\d\s,]*\])\s*$/;

/** Null: the text is not a case. */
export function readCase(text: string): ListCase | null {
  const [, number = "", result = ""] = written.exec(text) ?? [];
  if (!caseNumbers.includes(Number(number)) || String(Number(number)) !== number) return null;
  try {
    return { number: Number(number), result: JSON.parse(result) as ListAnswer };
  } catch {
    return null;
  }
}

export function caseIn(test: GeneratedTest): ListCase | null {
  return test.kind === "assertion" ? readCase(test.source) : null;
}
