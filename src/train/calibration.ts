/** How a judge's verdicts agree with what the environment knows. */
import { rewardBefore } from "../judges/judge-episode.ts";
import { outcomesOf } from "../judges/mixed-rewards.ts";
import { scoresIn } from "../judges/scores.ts";
import type { Episode, EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";
import { edgesOf, nodeOf, pathTo } from "../rollout/navigate.ts";
import type { Calibration } from "../runs/records.ts";
import { rankCorrelation } from "../statistics.ts";

/** Null: no action has a score. */
export function calibrationOf(episodes: readonly Episode[]): Calibration | null {
  const scored = episodes.flatMap(scoresOf);
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

interface Scored {
  readonly role: string;
  readonly score: number;
  /** The mean score of the ends that the action led to. */
  readonly outcome: number;
}

function correlationOf(scored: readonly Scored[]): number | null {
  return rankCorrelation(scored.map(({ score, outcome }) => [score, outcome]));
}

function scoresOf(episode: Episode): Scored[] {
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
