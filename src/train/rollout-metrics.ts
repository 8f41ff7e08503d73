/** What a step's episodes and their credit say about the team. */
import type { CreditedAction } from "../credit/algorithm.ts";
import type { Episode } from "../rollout/episode.ts";
import type { RoleMetrics, RolloutMetrics } from "../runs/records.ts";
import { mean, standardDeviation } from "../statistics.ts";

export function rolloutMetrics(
  episodes: readonly Episode[],
  credited: readonly CreditedAction[],
): RolloutMetrics {
  const ends = episodes.flatMap((episode) => episode.ends);
  const groups = [...Map.groupBy(credited.filter(isLive), (placed) => placed.group).values()];
  const byRole = Map.groupBy(credited, ({ action }) => action.role);
  return {
    episodes: episodes.length,
    success: mean(ends.map(({ outcome }) => (outcome.success ? 1 : 0))),
    score: mean(ends.map(({ outcome }) => outcome.score)),
    turns: mean(ends.map(({ turns }) => turns)),
    roles: Object.fromEntries([...byRole].map(([role, members]) => [role, roleMetrics(members)])),
    groups: groups.length,
    flatGroups: mean(groups.map((group) => (isFlat(group) ? 1 : 0))),
    promptTokens: promptTokens(credited),
    sampledTokens: credited.reduce((sum, { action }) => sum + action.tokens.length, 0),
  };
}

function roleMetrics(members: readonly CreditedAction[]): RoleMetrics {
  const names = new Set(members.flatMap(({ action }) => Object.keys(action.reward.parts)));
  const part = (name: string) => mean(members.map(({ action }) => action.reward.parts[name] ?? 0));
  return {
    actions: members.length,
    team: mean(members.map(({ action }) => action.reward.team)),
    local: mean(members.map(({ action }) => action.reward.local)),
    parts: Object.fromEntries([...names].map((name) => [name, part(name)])),
    advantageSpread: standardDeviation(members.map(({ advantage }) => advantage)),
    truncated: mean(members.map(({ action }) => (action.stopReason === "length" ? 1 : 0))),
  };
}

function isLive({ action }: CreditedAction): boolean {
  return !action.frozen;
}

function isFlat(group: readonly CreditedAction[]): boolean {
  return group.every((placed) => placed.return === group[0]?.return);
}

/** A prompt that several actions share was computed once. */
function promptTokens(credited: readonly CreditedAction[]): number {
  const prompts = new Set(credited.map(({ action }) => action.prompt));
  return [...prompts].reduce((sum, prompt) => sum + prompt.length, 0);
}
