/** Decisions in recorded episodes: a role's actions that were sampled from one state, and a sample of them to audit. */
import { generatorOf, childKey, shuffled, type Key } from "../random.ts";
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { childrenOf, edgesOf } from "../rollout/navigate.ts";

export interface Decision {
  readonly episode: Episode;
  /** Whose state the role acted in. */
  readonly node: EpisodeNode;
  readonly role: string;
  readonly turn: number;
  /** What it sampled there, at least two that differ. */
  readonly candidates: readonly Action[];
}

export interface FoundDecisions {
  readonly decisions: readonly Decision[];
  /** Decisions whose candidates are all the same tokens: there is nothing to compare. */
  readonly same: number;
}

/** Of the roles that learn, in the order of the record. */
export function decisionsIn(episodes: readonly Episode[]): FoundDecisions {
  const all = episodes.flatMap((episode) =>
    episode.nodes.filter((node) => node.pending === undefined).flatMap((node) => decisionsAt(episode, node)),
  );
  const decisions = all.filter(({ candidates }) => new Set(candidates.map(tokensOf)).size > 1);
  return { decisions, same: all.length - decisions.length };
}

function decisionsAt(episode: Episode, node: EpisodeNode): Decision[] {
  const actions = new Set(
    childrenOf(episode, node).flatMap((child) => edgesOf(episode, child).map(({ action }) => action)),
  );
  const learned = [...actions].filter(({ frozen, masked }) => !frozen && masked === undefined);
  return [...Map.groupBy(learned, ({ role }) => role)].flatMap(([role, candidates]) =>
    candidates.length < 2 ? [] : [{ episode, node, role, turn: node.turn, candidates }],
  );
}

/** Actions with the same key are the same action: they have one value. */
export function tokensOf({ tokens, stopReason }: Action): string {
  return `${stopReason} ${tokens.join(",")}`;
}

/** One of each that are the same action. */
export function differentCandidates({ candidates }: Decision): readonly Action[] {
  return [...new Map(candidates.map((action) => [tokensOf(action), action])).values()];
}

/**
 * Random ones, as evenly over roles and turns as there are enough, in the order of the record.
 * @param room for so many different candidates of all decisions together
 */
export function sampleDecisions(
  decisions: readonly Decision[],
  count: number,
  key: Key,
  room = Infinity,
): Decision[] {
  const kinds = [...Map.groupBy(decisions, ({ role, turn }) => JSON.stringify([role, turn]))].map(
    ([kind, own]) => shuffled(generatorOf(childKey(key, kind)), own),
  );
  const most = Math.max(0, ...kinds.map(({ length }) => length));
  const inTurns = Array.from({ length: most }, (_, place) => kinds.flatMap((own) => own[place] ?? [])).flat();
  const chosen = new Set<Decision>();
  let left = room;
  for (const decision of inTurns.slice(0, count)) {
    left -= differentCandidates(decision).length;
    if (left < 0) break;
    chosen.add(decision);
  }
  return decisions.filter((decision) => chosen.has(decision));
}
