/** What the index keeps of an episode. The record is read as it was written; damage shows when it lacks what is read. */
import { reasonsDropped } from "../dropped.ts";
import { isDisputed, type ActionFacts } from "../filter.ts";
import { textOfReply } from "./fold.ts";
import type { EpisodeJson } from "../../rollout/codec.ts";
import { playedEnds } from "../../rollout/line.ts";
import type { ActionCredit } from "../../rollout/stored.ts";

export interface StoredJson {
  readonly episode: EpisodeJson;
  readonly credit?: readonly ActionCredit[];
  /** By hash, where its member begins. */
  readonly prompts: Readonly<Record<string, number>>;
}

export interface IndexedAction extends ActionFacts {
  /** Number of the action in the episode: those in several joint actions are there several times. */
  readonly action: number;
}

export interface IndexedEpisode {
  readonly turns: number;
  readonly disagree: boolean;
  readonly blamed: ReadonlySet<string>;
  readonly actions: readonly IndexedAction[];
  /** Of each action. */
  readonly ids: readonly string[];
  /** Of each action: everything that it wrote. */
  readonly texts: readonly string[];
  /** Of each action: its prompt's hash. */
  readonly prompts: readonly string[];
}

/** @param isBranched only the first trajectory is play of the team (`EpisodeEntry.branched`) */
export function indexedEpisode({ episode, credit }: StoredJson, isBranched = false): IndexedEpisode {
  const { nodes, actions } = episode;
  const ends = playedEnds(episode.ends, isBranched);
  const dropped = reasonsDropped({ episode, ...(credit === undefined ? {} : { credit }) });
  const numbers = new Map(actions.map(({ id }, number) => [id, number]));
  const rowOf = (number: number, reward: number | null): IndexedAction => {
    const { id, role, stopReason } = actions[number] as EpisodeJson["actions"][number];
    return { action: number, role, truncated: stopReason === "length", dropped: dropped.has(id), reward };
  };
  const edges = nodes.flatMap((node) => node.actions);
  const rows = edges.map(({ action, reward }) =>
    rowOf(numbers.get(action) ?? -1, reward === null ? null : reward.team + reward.local),
  );
  const placed = new Set(rows.map(({ action }) => action));
  const unplaced = actions.flatMap((_, number) => (placed.has(number) ? [] : [rowOf(number, null)]));
  const blamed = edges.flatMap(({ verdict }) =>
    verdict !== undefined && "blame" in verdict && typeof verdict.blame === "string" ? [verdict.blame] : [],
  );
  return {
    turns: Math.max(0, ...ends.map(({ turns }) => turns)),
    disagree: isDisputed({
      nodes,
      ends: ends.map(({ node, outcome }) => ({ node, success: outcome.success })),
    }),
    blamed: new Set(blamed),
    actions: [...rows, ...unplaced],
    ids: actions.map(({ id }) => id),
    texts: actions.map(({ reply }) => textOfReply(reply)),
    prompts: actions.map(({ prompt }) => prompt),
  };
}
