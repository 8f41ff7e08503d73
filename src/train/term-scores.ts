/** Means of the rewards' terms in an evaluation: of each role, and of the team. */
import { actionsTo } from "../credit/trajectories.ts";
import type { Episode } from "../rollout/episode.ts";
import { edgesOf, nodeOf, type Occurrence } from "../rollout/navigate.ts";
import type { Evaluation } from "../runs/records.ts";
import { mean, standardError } from "../statistics.ts";

type Terms = Readonly<Record<string, number>>;
type TermScores = NonNullable<Evaluation["terms"]>;

/**
 * A role's terms are those of its last action in an episode; the team's are the mean over the roles of the last joint
 * action. Each task counts equally. Null: no reward has terms.
 *
 * @param tasks each task's episodes
 */
export function termScores(tasks: readonly (readonly Episode[])[]): TermScores | null {
  const names = new Set(tasks.flat().flatMap((episode) => episode.actions.map(({ role }) => role)));
  const roles = [...names].map((role) => [role, scoresOf(tasks, (one) => lastOf(one, role))] as const);
  const found = roles.filter(([, scores]) => Object.keys(scores).length > 0);
  if (found.length === 0) return null;
  return { team: scoresOf(tasks, lastJoint), roles: Object.fromEntries(found) };
}

/** The means of what `read` finds in each episode; a term that an episode lacks does not count there. */
function scoresOf(
  tasks: readonly (readonly Episode[])[],
  read: (episode: Episode) => readonly Terms[],
): TermScores["team"] {
  const found = tasks.map((samples) => samples.flatMap(read));
  const names = new Set(found.flat().flatMap((terms) => Object.keys(terms)));
  return Object.fromEntries([...names].map((name) => [name, scoreOf(found, name)]));
}

function scoreOf(tasks: readonly (readonly Terms[])[], name: string): TermScores["team"][string] {
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
    const meanOf = (name: string) => mean(found.flatMap((terms) => terms[name] ?? []));
    return [Object.fromEntries([...names].map((name) => [name, meanOf(name)]))];
  });
}

function termsOf({ reward }: Occurrence): Terms[] {
  return reward?.terms === undefined ? [] : [reward.terms];
}
