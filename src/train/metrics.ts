/**
 * The figures of a step's episodes and their credit, and what in them is worth a warning: a role that cannot learn,
 * rewards outside [0, 1].
 */
import type { Algorithm, CreditedAction, PlacedAction } from "../credit/algorithm.ts";
import { isFlat } from "../credit/baselines.ts";
import { advantageShares } from "../credit/data.ts";
import { placedActions } from "../credit/places.ts";
import { usesRewards } from "../credit/selection.ts";
import type { Environment } from "../environments/environment.ts";
import { nameWithModule } from "../environments/origin.ts";
import { rewardBefore } from "../judges/judge-episode.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { Action, Episode, EpisodeEnd } from "../rollout/episode.ts";
import { playedEnds } from "../rollout/line.ts";
import type { RoleMetrics, RolloutMetrics, StepMetrics } from "../runs/records.ts";
import { showNumber } from "../format.ts";
import { areEqual, mean, standardDeviation, sum } from "../statistics.ts";
import type { Influence } from "./influence.ts";
import { failuresOf } from "./judging.ts";
import type { StepEpisodes } from "./state.ts";

/** How the episodes were sampled and credited, and what was measured of the roles besides. */
export interface RolloutContext {
  readonly algorithm: Algorithm;
  /** Whether actions were sampled from the policies' whole distributions, at temperature 1. */
  readonly isWhole: boolean;
  /** By role. */
  readonly influence: ReadonlyMap<string, Influence>;
}

/** Rewards and lengths cover all episodes, including dropped ones; groups and advantages those that were credited. */
export function rolloutMetrics(
  { episodes, kept, failed, waves, sampledTokens }: Omit<StepEpisodes, "services">,
  credited: readonly CreditedAction[],
  { algorithm, isWhole, influence }: RolloutContext,
): RolloutMetrics {
  const shares = advantageShares(credited, algorithm);
  const ends = episodes.flatMap((episode) => episode.ends);
  // Alternatives are continued to say what they are worth: they are no play of the team, and long episodes have more.
  const lines = playedEnds(ends, algorithm.sampling.continued === "once");
  const placed = episodes.flatMap(placedActions);
  const live = credited.filter(({ action }) => !action.frozen);
  const rewarded = live.filter((one) => one.return !== null && one.leftOut === undefined);
  const unrewarded = live.filter((one) => one.return === null).length;
  const unjudged = sum(episodes.map((episode) => failuresOf(episode).length));
  const groups = [...Map.groupBy(rewarded, (one) => one.group).values()];
  const byRole = Map.groupBy(placed, ({ action }) => action.role);
  const creditedByRole = Map.groupBy(
    credited.filter((one) => one.return !== null && one.leftOut === undefined),
    ({ action }) => action.role,
  );
  return {
    episodes: episodes.length,
    waves,
    dropped: episodes.length - kept.length,
    ...(failed.length === 0 ? {} : { failed: failed.length }),
    ...(unrewarded > 0 ? { unrewarded } : {}),
    ...(unjudged > 0 ? { unjudged } : {}),
    ...leftOutOf(live),
    ...drift(placed.map(({ action }) => action)),
    ...uncalledIn(episodes),
    ...problemsIn(ends),
    success: mean(lines.map(({ outcome }) => (outcome.success ? 1 : 0))),
    score: mean(lines.map(({ outcome }) => outcome.score)),
    turns: mean(lines.map(({ turns }) => turns)),
    roles: Object.fromEntries(
      [...byRole].map(([role, members]) => [
        role,
        {
          ...roleMetrics(members, creditedByRole.get(role) ?? []),
          ...(isWhole ? entropyOf(members) : {}),
          ...ifKnown("advantageShare", shares.get(role)),
          ...influence.get(role),
        },
      ]),
    ),
    groups: groups.length,
    flatGroups: flatShare(groups),
    promptTokens: promptTokens(placed),
    sampledTokens,
  };
}

/** Actions that the algorithm sampled and does not train, by reason. */
function leftOutOf(actions: readonly CreditedAction[]): Pick<RolloutMetrics, "leftOut"> {
  const counts = Map.groupBy(actions, ({ leftOut }) => leftOut);
  const known = (["down-sampled", "continuation"] as const).flatMap((why) => {
    const own = counts.get(why);
    return own === undefined ? [] : [[why, own.length] as const];
  });
  return known.length === 0 ? {} : { leftOut: Object.fromEntries(known) };
}

/** Runs of programs that drive themselves and called nobody: whatever they earned, nothing learns from it. */
export function uncalledIn(episodes: readonly Episode[]): { readonly uncalled?: number } {
  const all = episodes.flatMap(({ nodes }) => nodes);
  const uncalled = all.filter(
    ({ parent, done, actions }) => parent === "" && done && actions.length === 0,
  ).length;
  return uncalled === 0 ? {} : { uncalled };
}

/** What went wrong in programs that drive themselves: they earned nothing, whatever the roles said. */
export function problemsIn(ends: readonly EpisodeEnd[]): {
  readonly problems?: Readonly<Record<string, number>>;
} {
  const counts: Record<string, number> = {};
  for (const { problem } of ends) if (problem !== undefined) counts[problem] = (counts[problem] ?? 0) + 1;
  return Object.keys(counts).length === 0 ? {} : { problems: counts };
}

/** Rewards of a program's own to roles or replies, where the algorithm compares scores alone. */
export function unusedRewards(
  environment: Environment,
  episodes: readonly Episode[],
  algorithm: Algorithm,
): Pick<RolloutMetrics, "unusedRewards"> {
  if (environment.drive === undefined || usesRewards(algorithm)) return {};
  const rewards = episodes.flatMap(({ nodes }) => nodes.flatMap(({ actions }) => actions.map(rewardBefore)));
  const unused = rewards.filter((reward) => Object.keys(reward?.parts ?? {}).length > 0).length;
  return unused === 0 ? {} : { unusedRewards: unused };
}

export function unusedWarning({ name }: Algorithm): Warning {
  return {
    key: "algorithm.reward",
    problem: `the program rewards roles or replies, but ${name} compares scores alone: these rewards train nothing`,
    fix: "set `algorithm.reward` to rewards if the algorithm has it (docs/algorithms.md), or give the score alone",
  };
}

/** Of programs that drive themselves: which prompts continue nothing, and which actions train nothing, by reason. */
function drift(actions: readonly Action[]): Pick<RolloutMetrics, "branches" | "reencoded" | "masked"> {
  const figures = {
    branches: summed(actions, ({ branch }) => branch),
    reencoded: summed(
      actions,
      ({ branch }) => branch,
      ({ prompt }) => prompt.length,
    ),
    masked: summed(actions, ({ masked }) => masked),
  };
  return Object.fromEntries(Object.entries(figures).filter(([, found]) => Object.keys(found).length > 0));
}

/** By reason, in the order of the alphabet. */
function summed(
  actions: readonly Action[],
  reasonOf: (action: Action) => string | undefined,
  sizeOf: (action: Action) => number = () => 1,
): Readonly<Record<string, number>> {
  const given = actions.filter((action) => reasonOf(action) !== undefined);
  const byReason = [...Map.groupBy(given, (action) => reasonOf(action) ?? "")];
  const sums = byReason.map(([reason, all]) => [reason, sum(all.map(sizeOf))] as const);
  return Object.fromEntries(sums.toSorted(([one], [other]) => (one < other ? -1 : 1)));
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
    length: mean(members.map(({ action }) => action.tokens.length)),
    ...flatGroupsOf(credited.filter(({ action }) => !action.frozen)),
    ...(isFlatRole(credited.filter(({ action }) => !action.frozen)) ? { flat: true } : {}),
  };
}

function ifKnown<Name extends string>(
  name: Name,
  value: number | undefined,
): { readonly [Key in Name]?: number } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]: number });
}

/** E[−log p(token)] is the entropy if the tokens are samples of p. */
function entropyOf(members: readonly PlacedAction[]): Pick<RoleMetrics, "entropy"> {
  let [total, tokens] = [0, 0];
  for (const { action } of members) {
    for (const logprob of action.logprobs) total += logprob;
    tokens += action.logprobs.length;
  }
  return tokens === 0 ? {} : { entropy: -(total / tokens) };
}

function flatShare(groups: readonly (readonly CreditedAction[])[]): number {
  return mean(groups.map((group) => (areEqual(group.map((one) => one.return ?? NaN)) ? 1 : 0)));
}

/** @param own trained, with a return. Groups of one action compare nothing. */
function flatGroupsOf(own: readonly CreditedAction[]): Pick<RoleMetrics, "flatGroups"> {
  const groups = [...Map.groupBy(own, (one) => one.group).values()];
  return groups.some((group) => group.length > 1) ? { flatGroups: flatShare(groups) } : {};
}

/** The samples of a role in one state share a prompt, which was computed once. */
function promptTokens(placed: readonly PlacedAction[]): number {
  const shared = Map.groupBy(placed, ({ episode, action }) =>
    JSON.stringify([episode.id, action.parent, action.role]),
  );
  return sum([...shared.values()].map(([first]) => first?.action.prompt.length ?? 0));
}

/**
 * Steps after which a role is reported that cannot learn: in each of them, everything that it did earned as much as what
 * the algorithm compares it with. Nothing else shows it: such a role still writes, and the team's reward may rise.
 */
export const patience = 20;

/**
 * Whether what a role earned, without KL, is equal in each of its groups. Where every action is a group of its own, a
 * whole batch is compared.
 * @param actions of the role, with a return
 */
export function isFlatRole(actions: readonly CreditedAction[]): boolean {
  const groups = [...Map.groupBy(actions, (one) => one.group).values()];
  const compared = groups.some((group) => group.length > 1) ? groups : [actions];
  return actions.length > 0 && compared.every((group) => isFlat(group.map(({ earned }) => earned)));
}

/** How many steps each role has been flat for, up to the last one; roles that are not are omitted. */
export function flatStreaks(metrics: readonly StepMetrics[]): Readonly<Record<string, number>> {
  const steps = metrics.flatMap(({ rollout }) => rollout ?? []);
  const names = Object.keys(steps.at(-1)?.roles ?? {});
  const streaks = names.map((name) => {
    const last = steps.findLastIndex(({ roles }) => roles[name]?.flat !== true);
    return [name, steps.length - 1 - last] as const;
  });
  return Object.fromEntries(streaks.filter(([, length]) => length > 0));
}

/** Of roles that have been flat for exactly so long, so that each is reported once. */
export function flatWarnings(metrics: readonly StepMetrics[], algorithm: Algorithm): readonly Warning[] {
  const streaks = flatStreaks(metrics);
  const roles = metrics.at(-1)?.rollout?.roles ?? {};
  const due = Object.keys(streaks).filter((name) => streaks[name] === patience);
  const others = Object.keys(roles).filter((name) => !Object.hasOwn(streaks, name));
  return due.map((name) => ({
    key: `team.roles.${name}`,
    problem: `for ${patience} steps, nothing that the ${name} wrote earned more or less than what it is compared with: it learns nothing`,
    fix: fixFor(others, algorithm),
  }));
}

function fixFor(others: readonly string[], { name, critic, whitening }: Algorithm): string {
  if (others.length > 0)
    return `rewards of the ${others.join(" and the ")} do differ: look whether anybody reads what it writes (team.phases), and whether a reward depends on it; a judge of single actions gives it one of its own`;
  if (critic === null && whitening === null)
    return `${name} compares samples of one task or state: with tasks of mixed difficulty, reinforce-plus-plus, which compares the whole batch, or ppo, which has a critic, can learn; otherwise easier tasks, a longer warm start, or a judge of single actions`;
  return "easier tasks, a longer warm start, or a judge of single actions make rewards differ";
}

/** Half precision differs by hundredths. */
const largestMismatch = 0.1;

/** If the last step is the first of these in which sampler and trainer do not compute the same. */
export function mismatchWarnings(metrics: readonly StepMetrics[]): readonly Warning[] {
  const isLarge = metrics.map(({ rollout }) => (rollout?.mismatch ?? 0) > largestMismatch);
  if (isLarge.indexOf(true) !== metrics.length - 1 || metrics.length === 0) return [];
  const mismatch = metrics.at(-1)?.rollout?.mismatch ?? 0;
  return [
    {
      key: "engine",
      problem: `the log-probabilities of sampled tokens differ from the trainer's by ${showNumber(mismatch)} nats per token, for the same weights (rollout.mismatch)`,
      fix: "importance weights correct small differences; so large a one is an error of the engine, or of its precision: compare with precision: float32",
    },
  ];
}

/** Rounding, as in the conformance kit. */
const tolerance = 1e-9;

/**
 * The first of the environment's own rewards and scores that is outside [0, 1] (docs/writing-an-environment.md); null: none.
 * Others are trained on as they are, because some published rewards have another scale; a run says so once.
 */
export function outsideRange(environment: Environment, episodes: readonly Episode[]): Warning | null {
  // Of a server's rewards only their sum is scaled: a step back is less than 0.
  const seats = environment.drive === undefined ? [] : (environment.oracle?.summable ?? []);
  for (const episode of episodes) {
    const found = firstOutside(episode, seats);
    if (found === null) continue;
    const problem = `${nameWithModule(environment)} gave ${found} in ${episode.id}; rewards and scores belong in [0, 1]`;
    const fix =
      "divide by the largest possible value, so that team and local rewards have the weight that the algorithm gives them";
    return { key: "environment", problem, fix };
  }
  return null;
}

/** @param ofAnySize seats whose single rewards may have any size */
function firstOutside({ nodes, actions, ends }: Episode, ofAnySize: readonly string[]): string | null {
  const seats = new Map(actions.map(({ id, seat }) => [id, seat]));
  for (const edge of nodes.flatMap((node) => node.actions)) {
    const reward = rewardBefore(edge);
    if (reward === null || ofAnySize.includes(seats.get(edge.action) ?? "")) continue;
    for (const kind of ["team", "local"] as const)
      if (isOutside(reward[kind])) return `the ${kind} reward ${reward[kind]} to ${seats.get(edge.action)}`;
  }
  const end = ends.find(({ outcome }) => isOutside(outcome.score));
  return end === undefined ? null : `the score ${end.outcome.score}`;
}

function isOutside(value: number): boolean {
  return value < -tolerance || value > 1 + tolerance;
}
