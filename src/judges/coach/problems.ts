/** Options of a coach that cannot work together. */
import type { OptionProblem } from "../judge.ts";
import type { CoachOptions } from "./options.ts";
import { priceOf } from "./prices.ts";

/** @param roles of all teams */
export function coachProblems(options: CoachOptions, roles: readonly string[]): readonly OptionProblem[] {
  return [...unknownPrice(options), ...unknownRoles(options, roles)];
}

function unknownRoles({ truth }: CoachOptions, roles: readonly string[]): readonly OptionProblem[] {
  const named = typeof truth === "string" ? [] : Object.keys(truth);
  const unknown = named.filter((role) => !roles.includes(role));
  const fix = `name roles of the team: ${[...new Set(roles)].join(", ")}`;
  return unknown.map((role) => ({ option: "truth", problem: `there is no role ${role}`, fix }));
}

function unknownPrice(options: CoachOptions): readonly OptionProblem[] {
  if (options.budget.dollars === undefined || priceOf(options) !== null) return [];
  const problem = `the price of ${options.model} is not known, so dollars cannot be counted`;
  return [
    { option: "price", problem, fix: "set `price: { input, output }` in dollars for a million tokens" },
  ];
}
