/** What a step's episodes and their credit say about the team. */
import type { CreditedAction, PlacedAction } from "../credit/algorithm.ts";
import { placedActions } from "../credit/placed-actions.ts";
import type { RoleMetrics, RolloutMetrics } from "../runs/records.ts";
import { mean, standardDeviation } from "../statistics.ts";
import type { PlayedStep } from "./play.ts";

/** Rewards and lengths are of all that was played, dropped episodes too; groups and advantages of what was credited. */
export function rolloutMetrics(
  { episodes, kept, failed, waves, sampledTokens }: PlayedStep,
  credited: readonly CreditedAction[],
): RolloutMetrics {
  const ends = episodes.flatMap((episode) => episode.ends);
  const placed = episodes.flatMap(placedActions);
  const groups = [...Map.groupBy(credited.filter(isLive), (one) => one.group).values()];
  const byRole = Map.groupBy(placed, ({ action }) => action.role);
  const creditedByRole = Map.groupBy(credited, ({ action }) => action.role);
  return {
    episodes: episodes.length,
    waves,
    dropped: episodes.length - kept.length,
    ...(failed.length === 0 ? {} : { failed: failed.length }),
    success: mean(ends.map(({ outcome }) => (outcome.success ? 1 : 0))),
    score: mean(ends.map(({ outcome }) => outcome.score)),
    turns: mean(ends.map(({ turns }) => turns)),
    roles: Object.fromEntries(
      [...byRole].map(([role, members]) => [role, roleMetrics(members, creditedByRole.get(role) ?? [])]),
    ),
    groups: groups.length,
    flatGroups: mean(groups.map((group) => (isFlat(group) ? 1 : 0))),
    promptTokens: promptTokens(placed),
    sampledTokens,
  };
}

function roleMetrics(members: readonly PlacedAction[], credited: readonly CreditedAction[]): RoleMetrics {
  const rewards = members.flatMap(({ occurrences }) => occurrences.map(({ action }) => action.reward));
  const names = new Set(rewards.flatMap(({ parts }) => Object.keys(parts)));
  const part = (name: string) => mean(rewards.map(({ parts }) => parts[name] ?? 0));
  return {
    actions: members.length,
    team: mean(rewards.map(({ team }) => team)),
    local: mean(rewards.map(({ local }) => local)),
    parts: Object.fromEntries([...names].map((name) => [name, part(name)])),
    advantageSpread: standardDeviation(credited.map(({ advantage }) => advantage)),
    truncated: mean(members.map(({ action }) => (action.stopReason === "length" ? 1 : 0))),
  };
}

function isLive({ action }: CreditedAction): boolean {
  return !action.frozen;
}

function isFlat(group: readonly CreditedAction[]): boolean {
  return group.every((one) => one.return === group[0]?.return);
}

/** A prompt that several actions share was computed once. */
function promptTokens(placed: readonly PlacedAction[]): number {
  const prompts = new Set(placed.map(({ action }) => action.prompt));
  return [...prompts].reduce((sum, prompt) => sum + prompt.length, 0);
}
