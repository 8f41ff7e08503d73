/** Navigates an episode's flat record: parents, children, trajectories. Each episode is indexed on first use. */
import type { ActionReward } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { Action, Episode, EpisodeNode } from "./episode.ts";

/** An action in the joint action that led to a node, with its reward there. */
export interface Occurrence {
  readonly episode: Episode;
  readonly node: EpisodeNode;
  readonly action: Action;
  /** null: unknown. */
  readonly reward: ActionReward | null;
}

interface Index {
  readonly nodes: ReadonlyMap<string, EpisodeNode>;
  readonly children: ReadonlyMap<string | null, readonly EpisodeNode[]>;
  /** By the node's id. */
  readonly edges: ReadonlyMap<string, readonly Occurrence[]>;
  /** By the action's id. */
  readonly occurrences: ReadonlyMap<string, readonly Occurrence[]>;
}

const indexes = new WeakMap<Episode, Index>();

/** The state before the first action. */
export function rootOf(episode: Episode): EpisodeNode {
  return indexOf(episode).children.get(null)?.[0] ?? missing(episode, "root");
}

export function nodeOf(episode: Episode, id: string): EpisodeNode {
  return indexOf(episode).nodes.get(id) ?? missing(episode, `node ${id}`);
}

export function parentOf(episode: Episode, { parent }: EpisodeNode): EpisodeNode | null {
  return parent === null ? null : nodeOf(episode, parent);
}

/** In the order of the record. */
export function childrenOf(episode: Episode, { id }: EpisodeNode): readonly EpisodeNode[] {
  const { nodes, children } = indexOf(episode);
  return children.get(id) ?? (nodes.has(id) ? [] : missing(episode, `node ${id}`));
}

/** The nodes on the path from the root to this one, including itself but not the root. */
export function pathTo(episode: Episode, node: EpisodeNode): EpisodeNode[] {
  const path: EpisodeNode[] = [];
  for (let at: EpisodeNode | null = node; at !== null && at.parent !== null; at = parentOf(episode, at))
    path.push(at);
  return path.toReversed();
}

/** The actions of the joint action that led to the node, in order; empty for the root. */
export function edgesOf(episode: Episode, node: EpisodeNode): readonly Occurrence[] {
  return indexOf(episode).edges.get(node.id) ?? missing(episode, `node ${node.id}`);
}

/** Every joint action that contains the action, in the order of the nodes: one, except in cross mode. */
export function occurrencesOf(episode: Episode, action: Action): readonly Occurrence[] {
  return indexOf(episode).occurrences.get(action.id) ?? missing(episode, `action ${action.id}`);
}

function indexOf(episode: Episode): Index {
  const found = indexes.get(episode) ?? makeIndex(episode);
  indexes.set(episode, found);
  return found;
}

function makeIndex(episode: Episode): Index {
  const actions = new Map(episode.actions.map((action) => [action.id, action]));
  const edges = new Map(
    episode.nodes.map((node) => [
      node.id,
      node.actions.map(({ action: id, reward }): Occurrence => {
        const action = actions.get(id) ?? missing(episode, `action ${id}`);
        return { episode, node, action, reward };
      }),
    ]),
  );
  const occurrences = Map.groupBy([...edges.values()].flat(), ({ action }) => action.id);
  return {
    nodes: new Map(episode.nodes.map((node) => [node.id, node])),
    children: Map.groupBy(episode.nodes, ({ parent }) => parent),
    edges,
    occurrences: new Map(episode.actions.map(({ id }) => [id, occurrences.get(id) ?? []])),
  };
}

function missing(episode: Episode, what: string): never {
  throw new TroupeError(
    "bad_arguments",
    `the episode ${episode.id} refers to ${what}, which it does not contain`,
  );
}
