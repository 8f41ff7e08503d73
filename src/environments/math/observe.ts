/** What the reasoner sees: the problem, and in later turns its last solution, without a verdict. */
import type { MathState } from "./state.ts";

export function observationOf({ prompt, solution }: MathState): string {
  const problem = `Problem:\n\n${prompt.trim()}`;
  if (solution === null) return problem;
  const last = `Your last solution:\n\n${solution.text.trim()}`;
  return `${problem}\n\n${last}\n\nCheck it, and give the final answer in \\boxed{}.`;
}
