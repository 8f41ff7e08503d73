/** The figures of an evaluation, from its episodes. */
import { actionsTo } from "../credit/places.ts";
import { rewardBefore } from "../judges/judge-episode.ts";
import { scoresIn } from "../judges/judge.ts";
import { outcomesOf } from "../judges/rewards.ts";
import type { Episode, EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";
import { edgesOf, nodeOf, pathTo, type Occurrence } from "../rollout/navigate.ts";
import type { Calibration, Evaluation } from "../runs/records.ts";
import {
  clusteredInterval,
  mean,
  rankCorrelation,
  standardError,
  sum,
  wilsonInterval,
} from "../statistics.ts";
import type { Team } from "../teams/team.ts";
import { problemsIn, uncalledIn } from "./metrics.ts";
import { judgedActions } from "./judging.ts";

export type Scores = Omit<Evaluation, "schema_version" | "step" | "moment" | "team">;

export interface Scored {
  readonly split: string;
  /** Episodes lost to failing services. */
  readonly failed: number;
  readonly team: Pick<Team, "turns">;
  /** Episodes of each task. Default: 1. */
  readonly samples?: number;
  /** The k of pass@k. */
  readonly passAt?: readonly number[];
}

export function scoresOf(episodes: readonly Episode[], scored: Scored): Scores {
  const { split, failed, team, samples = 1 } = scored;
  const ends = episodes.flatMap((episode) => episode.ends);
  const tasks = byTask(episodes);
  const successes = ends.filter(({ outcome }) => outcome.success);
  const solvedWithin = (turns: number) => successes.filter((end) => end.turns <= turns).length;
  const tokens = episodes.map(tokensOf);
  const terms = termScores(tasks);
  return {
    ...(split === "heldOut" ? {} : { split }),
    tasks: tasks.length,
    ...(samples === 1 ? {} : { samples }),
    successes: successes.length,
    ...(failed === 0 ? {} : { failed }),
    ...uncalledIn(episodes),
    ...problemsIn(ends),
    ...(samples > 1 || failed > 0 ? {} : { solved: tasks.map(succeeded).join("") }),
    success: successes.length / ends.length,
    ...(samples === 1 ? wilsonInterval(successes.length, ends.length) : successInterval(tasks)),
    ...passAtOf(tasks, scored),
    score: mean(ends.map(({ outcome }) => outcome.score)),
    ...(terms === null ? {} : { terms }),
    ...verdictsOf(episodes),
    turns: mean(ends.map((end) => end.turns)),
    successByTurn: Array.from({ length: team.turns }, (_, turn) => solvedWithin(turn + 1) / ends.length),
    promptTokens: sum(tokens.map(({ prompt }) => prompt)),
    sampledTokens: sum(tokens.map(({ sampled }) => sampled)),
  };
}

/** Each task's episodes. */
function byTask(episodes: readonly Episode[]): readonly (readonly Episode[])[] {
  return [...Map.groupBy(episodes, ({ task }) => JSON.stringify(task)).values()];
}

function successInterval(tasks: readonly (readonly Episode[])[]): { low: number; high: number } {
  const shares = tasks.map((samples) => succeeded(samples) / samples.length);
  return clusteredInterval(shares, sum(tasks.map((samples) => samples.length)));
}

function succeeded(samples: readonly Episode[]): number {
  return samples.filter(({ ends }) => ends.every(({ outcome }) => outcome.success)).length;
}

/** A task with fewer than k episodes, because services failed, does not count for this k. */
function passAtOf(
  tasks: readonly (readonly Episode[])[],
  { passAt: wanted = [] }: Scored,
): Pick<Scores, "passAt"> {
  const entries = wanted.flatMap((k) => {
    const counted = tasks.filter((samples) => samples.length >= k);
    if (counted.length === 0) return [];
    const values = counted.map((samples) => passAt(k, samples.length, succeeded(samples)));
    const trials = sum(counted.map((samples) => samples.length));
    return [[k, { mean: mean(values), ...clusteredInterval(values, trials) }] as const];
  });
  return entries.length === 0 ? {} : { passAt: Object.fromEntries(entries) };
}

/** Only if a judge was asked. */
function verdictsOf(episodes: readonly Episode[]): Pick<Scores, "judged" | "unjudged" | "calibration"> {
  const verdicts = episodes.flatMap(judgedActions).map(({ verdict }) => verdict);
  const scores = verdicts.flatMap((verdict) => ("score" in verdict ? [verdict.score] : []));
  const unjudged = verdicts.length - scores.length;
  const calibration = calibrationOf(episodes);
  return {
    ...(scores.length === 0 ? {} : { judged: mean(scores) }),
    ...(unjudged === 0 ? {} : { unjudged }),
    ...(calibration === null ? {} : { calibration }),
  };
}

function tokensOf(episode: Episode): { prompt: number; sampled: number } {
  const actions = episode.ends.flatMap(({ node }) => actionsTo(episode, nodeOf(episode, node)));
  return {
    prompt: sum(actions.map(({ action }) => action.prompt.length)),
    sampled: sum(actions.map(({ action }) => action.tokens.length)),
  };
}

/**
 * pass@k: the probability that at least one of k samples of a task succeeds. The unbiased estimate from n samples of which c succeeded, 1 − C(n−c, k) / C(n, k) (Chen et al. 2021,
 * arXiv 2107.03374, equation 1). Computed as a product, without large binomial coefficients.
 *
 * @param k from 1 to n
 */
export function passAt(k: number, n: number, c: number): number {
  if (n - c < k) return 1;
  let fails = 1;
  for (let i = n - c + 1; i <= n; i++) fails *= 1 - k / i;
  return 1 - fails;
}

type Terms = Readonly<Record<string, number>>;
type TermScores = NonNullable<Evaluation["terms"]>;

/**
 * Means of the rewards' terms, of each role and of the team. A role's terms are those of its last action in an episode; the team's are the mean over the roles of the last joint
 * action. Each task counts equally. Null: no reward has terms.
 *
 * @param tasks each task's episodes
 */
export function termScores(tasks: readonly (readonly Episode[])[]): TermScores | null {
  const names = new Set(tasks.flat().flatMap((episode) => episode.actions.map(({ role }) => role)));
  const roles = [...names].map((role) => [role, meansOf(tasks, (one) => lastOf(one, role))] as const);
  const found = roles.filter(([, scores]) => Object.keys(scores).length > 0);
  if (found.length === 0) return null;
  return { team: meansOf(tasks, lastJoint), roles: Object.fromEntries(found) };
}

/** The means of what `read` finds in each episode; a term that an episode lacks does not count there. */
function meansOf(
  tasks: readonly (readonly Episode[])[],
  read: (episode: Episode) => readonly Terms[],
): TermScores["team"] {
  const found = tasks.map((samples) => samples.flatMap(read));
  const names = new Set(found.flat().flatMap((terms) => Object.keys(terms)));
  return Object.fromEntries([...names].map((name) => [name, meanOf(found, name)]));
}

function meanOf(tasks: readonly (readonly Terms[])[], name: string): TermScores["team"][string] {
  const values = tasks.flatMap((found) => {
    const own = found.flatMap((terms) => (Object.hasOwn(terms, name) ? [terms[name] as number] : []));
    return own.length === 0 ? [] : [mean(own)];
  });
  return { mean: mean(values), error: standardError(values) };
}

/** Of the role's last rewarded action in each trajectory. */
function lastOf(episode: Episode, role: string): Terms[] {
  return episode.ends.flatMap(({ node }) => {
    const own = actionsTo(episode, nodeOf(episode, node)).filter(({ action }) => action.role === role);
    return own.flatMap(termsOf).slice(-1);
  });
}

/** The mean of the terms in the last joint action of each trajectory. */
function lastJoint(episode: Episode): Terms[] {
  return episode.ends.flatMap(({ node }) => {
    const found = edgesOf(episode, nodeOf(episode, node)).flatMap(termsOf);
    const names = new Set(found.flatMap((terms) => Object.keys(terms)));
    if (names.size === 0) return [];
    const average = (name: string) => mean(found.flatMap((terms) => terms[name] ?? []));
    return [Object.fromEntries([...names].map((name) => [name, average(name)]))];
  });
}

function termsOf({ reward }: Occurrence): Terms[] {
  return reward?.terms === undefined ? [] : [reward.terms];
}

/** How a judge's verdicts agree with what the environment knows. Null: no action has a score. */
export function calibrationOf(episodes: readonly Episode[]): Calibration | null {
  const scored = episodes.flatMap(scoredActions);
  if (scored.length === 0) return null;
  const blames = episodes.flatMap((episode) => episode.ends.flatMap((end) => blamesOf(episode, end)));
  const byRole = Map.groupBy(scored, ({ role }) => role);
  return {
    correlation: correlationOf(scored),
    roles: Object.fromEntries([...byRole].map(([role, own]) => [role, correlationOf(own)])),
    ...(blames.length === 0
      ? {}
      : { blame: { named: blames.length, correct: blames.filter((isRight) => isRight).length } }),
  };
}

interface ScoredAction {
  readonly role: string;
  readonly score: number;
  /** The mean score of the ends that the action led to. */
  readonly outcome: number;
}

function correlationOf(scored: readonly ScoredAction[]): number | null {
  return rankCorrelation(scored.map(({ score, outcome }) => [score, outcome]));
}

function scoredActions(episode: Episode): ScoredAction[] {
  const outcomes = outcomesOf(episode);
  return scoresIn(episode).flatMap(({ action: { role }, node, score }) => {
    const outcome = outcomes.get(node);
    return outcome === undefined ? [] : [{ role, score, outcome }];
  });
}

/** For each role that a verdict on a failed trajectory blames: whether it is the right one. */
function blamesOf(episode: Episode, { node, outcome }: EpisodeEnd): boolean[] {
  if (outcome.success) return [];
  const path = pathTo(episode, nodeOf(episode, node));
  const causes = firstMistake(episode, path);
  if (causes.length === 0) return [];
  return path
    .flatMap(({ actions }) => actions)
    .flatMap(({ verdict }) => {
      const blame = verdict !== undefined && "score" in verdict ? verdict.blame : undefined;
      return typeof blame === "string" ? [causes.includes(blame)] : [];
    });
}

/**
 * The roles whose action is the first with which the environment finds something wrong (`reason`), and which their role
 * did not repair: no later action of the role is without a reason. Empty: there is none, or the environment gave an
 * earlier action no reward, so that it may be the cause.
 */
function firstMistake(episode: Episode, path: readonly EpisodeNode[]): string[] {
  const findings = path.map((node) => findingsIn(episode, node));
  for (const [index, here] of findings.entries()) {
    const later = findings.slice(index + 1).flat();
    const left = here.filter(
      ({ role }) => !later.some((one) => one.role === role && one.found === "nothing"),
    );
    const wrong = left.filter(({ found }) => found === "mistake");
    if (wrong.length > 0) return wrong.map(({ role }) => role);
    if (left.some(({ role, found }) => found === "unknown" && !isRewarded(role, later))) return [];
  }
  return [];
}

interface Finding {
  readonly role: string;
  /** Of the environment, about an action. */
  readonly found: "mistake" | "nothing" | "unknown";
}

function findingsIn(episode: Episode, node: EpisodeNode): Finding[] {
  const rewards = node.actions.map(rewardBefore);
  return edgesOf(episode, node).map(({ action: { role } }, index) => {
    const reward = rewards[index] ?? null;
    if (reward === null) return { role, found: "unknown" };
    return { role, found: reward.reason === undefined ? "nothing" : "mistake" };
  });
}

/** An action without a reward may be part of a later one, as a call of a tool is. */
function isRewarded(role: string, later: readonly Finding[]): boolean {
  return later.some((one) => one.role === role && one.found !== "unknown");
}
