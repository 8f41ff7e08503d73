/** Turns the sampler's nodes into an episode's flat record. */
import type { SampledSequence } from "../engines/engine.ts";
import type { Json, Outcome } from "../environments/environment.ts";
import type { Pending } from "../environments/tool-use.ts";
import type { Action, Episode, EpisodeNode, Observation, RewardedAction } from "./episode.ts";
import { episodeVersion } from "./episode.ts";

export interface EpisodeStart {
  readonly task: Json;
  /** The episode's place in the run, such as ["train", 12, 3]: its key is `keyAt(root, ...path)`. */
  readonly path: readonly (string | number)[];
  /** The split of the task. Absent: none. */
  readonly split?: string;
  /** Absent: the path, such as "train/12/3". */
  readonly id?: string;
}

/** A node of a growing tree: children, `kept`, observations, verdicts and the ending are filled in later. */
export interface GrowingNode {
  readonly id: string;
  readonly parent: GrowingNode | null;
  readonly state: Json;
  readonly turn: number;
  readonly phase: number;
  readonly score: number;
  /** The joint action that led here. */
  readonly actions: readonly Action[];
  /** The reward of each. */
  rewarded: readonly RewardedAction[];
  observations: Readonly<Record<string, Observation>>;
  children: readonly GrowingNode[];
  kept: boolean;
  done: boolean;
  endedEarly?: boolean;
  readonly pending?: Pending;
}

export interface GrownEnd {
  readonly node: GrowingNode;
  readonly outcome: Outcome;
  readonly turns: number;
}

/** Nodes in depth-first order; actions in the order in which nodes refer to them. */
export function recordEpisode(start: EpisodeStart, root: GrowingNode, ends: readonly GrownEnd[]): Episode {
  return recordNodes(start, withDescendants(root), ends);
}

/**
 * The growing episode as seen from a node that was just acted from: the path to it and its children, with what followed their calls of tools. Concurrent
 * branches are left out, so that the record does not depend on timing.
 */
export function recordLine(start: EpisodeStart, node: GrowingNode): Episode {
  const way: GrowingNode[] = [];
  for (let at: GrowingNode | null = node; at !== null; at = at.parent) way.unshift(at);
  return recordNodes(start, [...way, ...node.children.flatMap(withDescendants)], []);
}

function recordNodes(
  { task, path, split, id }: EpisodeStart,
  grown: readonly GrowingNode[],
  ends: readonly GrownEnd[],
): Episode {
  const actions = new Map<string, Action>();
  for (const action of grown.flatMap((node) => node.actions))
    if (!actions.has(action.id)) actions.set(action.id, action);
  return {
    schema_version: episodeVersion,
    id: id ?? path.join("/"),
    path,
    split: split ?? null,
    task,
    nodes: grown.map(recordNode),
    actions: [...actions.values()],
    ends: ends.map(({ node, outcome, turns }) => ({ node: node.id, outcome, turns })),
  };
}

/** Depth first. */
export function withDescendants(node: GrowingNode): GrowingNode[] {
  return [node, ...node.children.flatMap(withDescendants)];
}

function recordNode(node: GrowingNode): EpisodeNode {
  const { id, parent, state, turn, phase, observations, rewarded, done, score, kept, endedEarly, pending } =
    node;
  return {
    id,
    parent: parent?.id ?? null,
    state,
    turn,
    phase,
    observations,
    actions: rewarded,
    done,
    score,
    kept,
    ...(endedEarly === undefined ? {} : { endedEarly }),
    ...(pending === undefined ? {} : { pending }),
  };
}

export function actionId(node: string, role: string, sample: number): string {
  return `${node}/${role}/${sample}`;
}

/** To a thousandth of a nat: more digits would be most of an episode's file. */
export function recordedEntropies({
  entropies,
}: Pick<SampledSequence, "entropies">): Pick<Action, "entropies"> {
  return entropies === undefined
    ? {}
    : { entropies: entropies.map((nats) => Math.round(nats * 1000) / 1000) };
}
