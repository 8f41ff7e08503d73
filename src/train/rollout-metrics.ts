/** Metrics of a step's episodes and their credit. */
import type { CreditedAction, PlacedAction } from "../credit/algorithm.ts";
import { placedActions } from "../credit/placed-actions.ts";
import type { RoleMetrics, RolloutMetrics } from "../runs/records.ts";
import { areEqual, mean, standardDeviation, sum } from "../statistics.ts";
import { isFlatRole } from "./flat-roles.ts";
import { failuresOf } from "./judging.ts";
import type { StepEpisodes } from "./play.ts";

/** Rewards and lengths cover all episodes, including dropped ones; groups and advantages those that were credited. */
export function rolloutMetrics(
  { episodes, kept, failed, waves, sampledTokens }: Omit<StepEpisodes, "services">,
  credited: readonly CreditedAction[],
): RolloutMetrics {
  const ends = episodes.flatMap((episode) => episode.ends);
  const placed = episodes.flatMap(placedActions);
  const live = credited.filter(({ action }) => !action.frozen);
  const rewarded = live.filter((one) => one.return !== null);
  const unrewarded = live.length - rewarded.length;
  const unjudged = sum(episodes.map((episode) => failuresOf(episode).length));
  const groups = [...Map.groupBy(rewarded, (one) => one.group).values()];
  const byRole = Map.groupBy(placed, ({ action }) => action.role);
  const creditedByRole = Map.groupBy(
    credited.filter((one) => one.return !== null),
    ({ action }) => action.role,
  );
  return {
    episodes: episodes.length,
    waves,
    dropped: episodes.length - kept.length,
    ...(failed.length === 0 ? {} : { failed: failed.length }),
    ...(unrewarded > 0 ? { unrewarded } : {}),
    ...(unjudged > 0 ? { unjudged } : {}),
    success: mean(ends.map(({ outcome }) => (outcome.success ? 1 : 0))),
    score: mean(ends.map(({ outcome }) => outcome.score)),
    turns: mean(ends.map(({ turns }) => turns)),
    roles: Object.fromEntries(
      [...byRole].map(([role, members]) => [role, roleMetrics(members, creditedByRole.get(role) ?? [])]),
    ),
    groups: groups.length,
    flatGroups: mean(groups.map((group) => (areEqual(group.map((one) => one.return ?? NaN)) ? 1 : 0))),
    promptTokens: promptTokens(placed),
    sampledTokens,
  };
}

function roleMetrics(members: readonly PlacedAction[], credited: readonly CreditedAction[]): RoleMetrics {
  const rewards = members
    .flatMap(({ occurrences }) => occurrences.map(({ reward }) => reward))
    .filter((reward) => reward !== null);
  const names = new Set(rewards.flatMap(({ parts }) => Object.keys(parts)));
  const part = (name: string) =>
    mean(rewards.map(({ parts }) => (Object.hasOwn(parts, name) ? (parts[name] ?? 0) : 0)));
  return {
    actions: members.length,
    team: rewards.length === 0 ? null : mean(rewards.map(({ team }) => team)),
    local: rewards.length === 0 ? null : mean(rewards.map(({ local }) => local)),
    parts: Object.fromEntries([...names].map((name) => [name, part(name)])),
    advantageSpread: standardDeviation(credited.map(({ advantage }) => advantage)),
    truncated: mean(members.map(({ action }) => (action.stopReason === "length" ? 1 : 0))),
    ...(isFlatRole(credited.filter(({ action }) => !action.frozen)) ? { flat: true } : {}),
  };
}

/** The samples of a role in one state share a prompt, which was computed once. */
function promptTokens(placed: readonly PlacedAction[]): number {
  const shared = Map.groupBy(placed, ({ episode, action }) =>
    JSON.stringify([episode.id, action.parent, action.role]),
  );
  return sum([...shared.values()].map(([first]) => first?.action.prompt.length ?? 0));
}
