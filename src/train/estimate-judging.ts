/** The questions that a run asks its judge at most: full-length episodes in which no two actions are equal. */
import type { ConfiguredJudge } from "../judges/judge.ts";
import type { PlannedQuestions } from "../judges/estimate.ts";
import type { Environment } from "../environments/environment.ts";
import { sum } from "../statistics.ts";
import type { Expansion } from "./estimate-episode.ts";

/**
 * @param expansions of one episode
 * @param episodes how many there are
 */
export function plannedQuestions(
  expansions: readonly Expansion[],
  episodes: number,
  { fills }: Pick<ConfiguredJudge, "fills">,
  { seats }: Pick<Environment, "seats">,
): PlannedQuestions[] {
  const onePath = sum(expansions.flatMap(({ roles }) => roles.map(({ action }) => action)));
  return expansions.flatMap(({ roles, count, nodes }) =>
    roles
      .filter(({ role }) => fills === "all" || seats[role.seat]?.judged === true)
      .map(({ prompt, action }) => ({
        states: nodes * episodes,
        alternatives: count,
        seen: prompt,
        written: action,
        others: onePath - action,
      })),
  );
}
