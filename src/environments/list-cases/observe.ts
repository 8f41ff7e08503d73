/** What the seats see: their statement, and from the second turn on program, case and what the program returned. */
import type { PairState } from "../code/coder-tester/state.ts";
import { statementOf, words, type Task } from "./task.ts";

export function observeCases(task: Task, pair: PairState, seat: string): string {
  const { program, test, mismatch } = pair;
  const sees = seat !== "single";
  const parts = [`${seat} : ${statementOf(task, seat === "tester")}`];
  if (program !== null) parts.push(`program ${program}`);
  if (sees && test?.kind === "assertion") parts.push(`case ${test.source}`);
  if (sees && mismatch !== null) parts.push(inWords(mismatch));
  return parts.join(" | ");
}

const known = new Set(words);

/** "got 9", or "fails": exceptions, and results that no program for a task returns, have no words. */
function inWords(mismatch: string): string {
  return mismatch.split(" ").every((word) => known.has(word)) ? mismatch : "fails";
}
