/** What the sampler does with the joint actions of a state: which to continue from, and whether the last turn is over. */
import type { ActionReward } from "../environments/environment.ts";
import { drawInt, generatorOf, keyAt, type Key } from "../random.ts";
import type { Action } from "./episode.ts";
import type { Histories } from "./prompts.ts";
import type { GrowingNode } from "./record.ts";
import type { RolloutSetting } from "./setting.ts";

/** A node to continue from, with the roles' histories there. */
export interface Tip {
  readonly node: GrowingNode;
  readonly histories: Histories;
}

/** A joint action that was stepped, after the calls of tools in it. */
export interface Stepped extends Tip {
  /** The child of the node acted from; `node` itself if no tool was called. */
  readonly first: GrowingNode;
}

/** Indices of the children to continue from. */
export function choose(
  setting: RolloutSetting,
  key: Key,
  node: GrowingNode,
  children: readonly Stepped[],
): number[] {
  const chosen = {
    all: () => children.map((_, index) => index),
    first: () => [0],
    random: () => [drawInt(generatorOf(keyAt(key, node.id, "keep", 0)), children.length)],
    best: () => [firstMaximum(children.map((child) => jointScore(setting, child)))],
  };
  return chosen[setting.scheme.keep]();
}

/**
 * The joint action's reward: the mean over its roles; NaN if one is missing. Frozen roles do not train, so they are
 * ignored, unless all are frozen.
 */
function jointScore(setting: RolloutSetting, stepped: Stepped): number {
  const replies = repliesOf(stepped);
  const trained = replies.filter(({ action }) => !action.frozen);
  const counted = trained.length > 0 ? trained : replies;
  const scores = counted.map(({ reward }) => (reward === null ? Number.NaN : setting.score(reward)));
  return scores.reduce((sum, score) => sum + score, 0) / counted.length;
}

/** The last action of each role in the phase; those before it called tools. */
function repliesOf(stepped: Stepped): { readonly action: Action; readonly reward: ActionReward | null }[] {
  const nodes = phaseNodes(stepped);
  const edges = nodes.flatMap(({ actions, rewarded }) =>
    actions.map((action, index) => ({ action, reward: rewarded[index]?.reward ?? null })),
  );
  if (nodes.length === 1) return edges;
  return [...Map.groupBy(edges, ({ action }) => action.role).values()].flatMap((own) => own.slice(-1));
}

/** From the first node of a joint action to the last. */
export function phaseNodes({ first, node }: Stepped): GrowingNode[] {
  const nodes = [node];
  for (let at = node; at !== first && at.parent !== null; at = at.parent) nodes.unshift(at.parent);
  return nodes;
}

/** The index of the maximum, ignoring NaN; 0 if all are NaN. */
function firstMaximum(values: readonly number[]): number {
  const known = values.filter((value) => !Number.isNaN(value));
  const most = known.reduce((best, value) => Math.max(best, value), -Infinity);
  return Math.max(0, values.indexOf(most));
}

/** Whether the last turn is the final one because its joint actions earned more than the threshold on average. */
export function reachedStopThreshold(
  setting: RolloutSetting,
  { turn }: GrowingNode,
  children: readonly Stepped[],
): boolean {
  const threshold = setting.scheme.stopAbove;
  // A turn is over after its last phase, or if the environment ended every child earlier.
  const isTurnOver = children.every(({ node }) => node.turn !== turn || node.done);
  if (threshold === undefined || !isTurnOver) return false;
  const total = children.reduce((sum, child) => sum + jointScore(setting, child), 0);
  return total / children.length > threshold;
}
