/** Options of a coach that cannot work together. */
import type { OptionProblem } from "../judge.ts";
import type { CoachOptions } from "./options.ts";
import { priceOf } from "./prices.ts";

export function coachProblems(options: CoachOptions): readonly OptionProblem[] {
  if (options.budget.dollars === undefined || priceOf(options) !== null) return [];
  const problem = `the price of ${options.model} is not known, so dollars cannot be counted`;
  return [
    { option: "price", problem, fix: "set `price: { input, output }` in dollars for a million tokens" },
  ];
}
