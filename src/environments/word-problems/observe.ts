/** What the seats see: the problem, the plan, what the program printed. */
import type { WordState } from "./state.ts";
import { described } from "./task.ts";
import { inWords } from "./words.ts";

export function observationOf({ task, plan, output }: WordState, seat: string): string {
  const problem = described(task);
  const planned = `plan ${shown(plan)}`;
  if (seat === "solver") return `solver : ${problem}`;
  if (seat === "executor") return `executor : ${planned}`;
  return `verifier : ${problem} | ${planned} | output ${shown(output)}`;
}

function shown(text: string | null): string {
  return text === null || text.trim() === "" ? "nothing" : inWords(text);
}
