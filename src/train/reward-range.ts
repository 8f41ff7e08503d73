/**
 * Rewards and scores belong in [0, 1] (docs/environments.md). Others are trained on as they are, because some published
 * rewards have another scale; a run says so once.
 */
import type { Environment } from "../environments/environment.ts";
import { nameWithModule } from "../environments/origin.ts";
import { rewardBefore } from "../judges/judge-episode.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { Episode } from "../rollout/episode.ts";

/** Rounding, as in the conformance kit. */
const tolerance = 1e-9;

/** The first of the environment's own rewards and scores that is outside; null: none. */
export function outsideRange(environment: Environment, episodes: readonly Episode[]): Warning | null {
  for (const episode of episodes) {
    const found = firstOutside(episode);
    if (found === null) continue;
    const problem = `${nameWithModule(environment)} gave ${found} in ${episode.id}; rewards and scores belong in [0, 1]`;
    const fix =
      "divide by the largest possible value, so that team and local rewards have the weight that the algorithm gives them";
    return { key: "environment", problem, fix };
  }
  return null;
}

function firstOutside({ nodes, actions, ends }: Episode): string | null {
  const seats = new Map(actions.map(({ id, seat }) => [id, seat]));
  for (const edge of nodes.flatMap((node) => node.actions)) {
    const reward = rewardBefore(edge);
    if (reward === null) continue;
    for (const kind of ["team", "local"] as const)
      if (isOutside(reward[kind])) return `the ${kind} reward ${reward[kind]} to ${seats.get(edge.action)}`;
  }
  const end = ends.find(({ outcome }) => isOutside(outcome.score));
  return end === undefined ? null : `the score ${end.outcome.score}`;
}

function isOutside(value: number): boolean {
  return value < -tolerance || value > 1 + tolerance;
}
