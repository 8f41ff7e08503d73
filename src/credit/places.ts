/**
 * Where actions stand in their episode: in the tree, on a trajectory, in a phase with calls of tools.
 *
 * A call of a tool has no reward of its own, unless a model got it wrong or a judge gave one: it is part of the reply that
 * it leads to, shares that reply's return, and counts with it as one sample.
 */
import type { Episode, EpisodeEnd, EpisodeNode, SamplingScheme } from "../rollout/episode.ts";
import { isOnLine } from "../rollout/line.ts";
import { childrenOf, edgesOf, nodeOf, occurrencesOf, parentOf, pathTo } from "../rollout/navigate.ts";
import type { Occurrence, PlacedAction } from "./algorithm.ts";

/**
 * Every completion of the episode once, including siblings that were not kept, in the order of the record. In cross
 * mode a completion is part of several joint actions: it is placed at the first, and `occurrences` lists them all.
 */
export function placedActions(episode: Episode): PlacedAction[] {
  return episode.actions.flatMap((action) => {
    const occurrences = occurrencesOf(episode, action);
    return occurrences.slice(0, 1).map((first) => ({ ...first, occurrences }));
  });
}

/** Whether the action was sampled for the value of one before it: not from a state of the line (`SamplingScheme.continued`). */
export function isContinuation({ episode, node }: PlacedAction, { continued }: SamplingScheme): boolean {
  // After a call of a tool, a reply is of the state that the call was sampled in.
  return continued === "once" && !isOnLine(phaseStart(episode, node) ?? "");
}

/** The end of the kept trajectory that contains the action (the first one if trajectories branch below it). */
export function trajectoryEnd({ episode, node }: PlacedAction): EpisodeEnd | undefined {
  return episode.ends.find((end) => isAtOrBelow(end.node, node.id));
}

/** Every action on the path to this node, in order, with the node it led to. */
export function actionsTo(episode: Episode, node: EpisodeNode): Occurrence[] {
  return pathTo(episode, node).flatMap((one) => edgesOf(episode, one));
}

/** The action and the later ones of its role on its trajectory, in order, without those that are masked. */
export function roleTrajectory(placed: PlacedAction): Occurrence[] {
  const end = trajectoryEnd(placed)?.node ?? placed.node.id;
  return actionsTo(placed.episode, nodeOf(placed.episode, end)).filter(
    ({ node, action }) =>
      action.role === placed.action.role &&
      isAtOrBelow(node.id, placed.node.id) &&
      (action.masked === undefined || action === placed.action),
  );
}

/** Node ids, below the root. */
function isAtOrBelow(node: string, ancestor: string): boolean {
  return node === ancestor || node.startsWith(`${ancestor}.`);
}

/** Whether the action called tools and has neither a reward nor a verdict. */
export function isPartOfReply({ node, action, reward }: Occurrence): boolean {
  if (reward !== null || node.pending?.answered[action.seat] === undefined) return false;
  return node.actions.find((edge) => edge.action === action.id)?.verdict === undefined;
}

/** The reply and the calls that are part of it, in order; of a call with a reward of its own that call alone. */
export function withCalls(occurrence: Occurrence): readonly Occurrence[] {
  const { episode, node, action } = occurrence;
  if (node.pending === undefined && parentOf(episode, node)?.pending === undefined) return [occurrence];
  const own = phaseOf(episode, node)
    .flatMap((one) => edgesOf(episode, one))
    .filter((one) => one.action.role === action.role);
  const reply = own.filter((one) => isPartOfReply(one) || one === own.at(-1));
  return reply.some((one) => one.action === action) ? reply : [occurrence];
}

/** The node that the reply led to. */
export function replyNode(occurrence: Occurrence): EpisodeNode {
  return withCalls(occurrence).at(-1)?.node ?? occurrence.node;
}

/** The node in which the environment has stepped: the last one of the phase. */
export function phaseEnd(episode: Episode, node: EpisodeNode): EpisodeNode {
  return phaseOf(episode, node).at(-1) ?? node;
}

/** The node from which the phase was acted. */
export function phaseStart(episode: Episode, node: EpisodeNode): string | null {
  return phaseOf(episode, node)[0]?.parent ?? node.parent;
}

/** The last action of each role in the phase, in the order of its nodes. */
export function repliesOf(episode: Episode, node: EpisodeNode): readonly Occurrence[] {
  const edges = phaseOf(episode, node).flatMap((one) => edgesOf(episode, one));
  return [...Map.groupBy(edges, ({ action }) => action.role).values()].flatMap((own) => own.slice(-1));
}

/** The nodes of a phase: one, and one for each time that tools answered. */
function phaseOf(episode: Episode, node: EpisodeNode): readonly EpisodeNode[] {
  const nodes = [node];
  for (let at = parentOf(episode, node); at?.pending !== undefined; at = parentOf(episode, at))
    nodes.unshift(at);
  for (let at = node; at.pending !== undefined;) {
    const [next] = childrenOf(episode, at);
    if (next === undefined) break;
    nodes.push(next);
    at = next;
  }
  return nodes;
}
