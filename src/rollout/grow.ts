/**
 * The sampler. Every published scheme is one expansion of the episode tree with two choices: how many actions are
 * sampled at a node (`branch`) and which children to continue from (`keep`). Roles of one phase act from the same
 * state; their samples are paired, or combined (`joint`). Children that are not kept are leaves: they train, nothing
 * follows.
 *
 * All randomness derives from keys of (episode, node, role), so a tree does not depend on concurrent work.
 */
import { checkOutcome } from "../environments/contract.ts";
import { deepFreeze } from "../environments/freeze.ts";
import type { Json, Outcome, StepResult } from "../environments/environment.ts";
import { advance, startEpisode } from "../environments/progression.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import { keyAt, type Key } from "../random.ts";
import { rolesToAct, scheduleOf } from "../teams/acting.ts";
import { withAction } from "../text/history.ts";
import { sampleRole, type ActingNode, type Draft } from "./act.ts";
import { callEnvironment } from "./call.ts";
import { choose, phaseNodes, reachedStopThreshold, type Stepped, type Tip } from "./choose.ts";
import { commentsSince } from "./comments.ts";
import { driveEpisode } from "./drive.ts";
import type { Action, Episode, Observation, RewardedAction } from "./episode.ts";
import { judgeChildren, judgeEnded } from "./judging.ts";
import { isOnLine } from "./line.ts";
import type { Histories } from "./prompts.ts";
import type { EpisodeStart, GrowingNode, GrownEnd } from "./record.ts";
import { actionId, recordedEntropies, recordEpisode } from "./record.ts";
import type { RolloutSetting } from "./setting.ts";
import { limiter, settleAll } from "../settle.ts";
import { showsThinking, thoughtsSince } from "./thinking.ts";

/**
 * Grows one episode. The key's root is the run's.
 * @throws TroupeError `cancelled` if the setting's signal aborts, `too_long` for a prompt that does not fit, `service`
 * if a service failed in spite of retries, and the engine's own
 */
export async function growEpisode(setting: RolloutSetting, root: Key, start: EpisodeStart): Promise<Episode> {
  if (setting.environment.drive !== undefined) return driveEpisode(setting, root, start);
  const key = keyAt(root, ...start.path);
  const { state } = await callEnvironment(setting, keyAt(key, "start"), "start", (context) =>
    startEpisode(setting.environment, start.task, context),
  );
  // A `step` that changes its state would change it for all actions sampled there; it throws instead.
  deepFreeze(state);
  const node: GrowingNode = {
    id: "",
    parent: null,
    state,
    score: outcomeOf(setting, state).score,
    turn: 0,
    phase: 0,
    actions: [],
    rewarded: [],
    observations: {},
    done: false,
    children: [],
    kept: true,
  };
  const ends = await growFrom(setting, key, start, { node, histories: new Map() });
  return judgeEnded(setting, recordEpisode(start, node, ends));
}

/** Complete episodes, and those that a service failed. */
export interface Grown {
  /** In the order of their starts, without those that failed. */
  readonly episodes: readonly Episode[];
  readonly failed: readonly FailedEpisode[];
}

export interface FailedEpisode {
  readonly path: EpisodeStart["path"];
  readonly cause: ServiceError;
}

/**
 * Grows them concurrently, as many as the setting allows; the engine batches requests. An episode that a service fails does not affect the
 * others. Any other error is thrown after the others have finished.
 */
export async function growEpisodes(
  setting: RolloutSetting,
  root: Key,
  starts: readonly EpisodeStart[],
): Promise<Grown> {
  const limited = limiter(setting.concurrency);
  const grown = await settleAll(
    starts.map((start) => limited(() => orFailed(start, () => growEpisode(setting, root, start)))),
  );
  return {
    episodes: grown.filter((one) => "nodes" in one),
    failed: grown.filter((one) => "cause" in one),
  };
}

/** The result, or the failure of a service. */
export async function orFailed<T>(
  { path }: Pick<EpisodeStart, "path">,
  make: () => Promise<T>,
): Promise<T | FailedEpisode> {
  try {
    return await make();
  } catch (cause) {
    if (cause instanceof ServiceError) return { path, cause };
    throw cause;
  }
}

/** Samples to the end of the episode, from a node that may be anywhere in it. */
export async function growFrom(
  setting: RolloutSetting,
  key: Key,
  start: EpisodeStart,
  tip: Tip,
): Promise<GrownEnd[]> {
  const { node } = tip;
  if (node.done) {
    return [{ node, outcome: outcomeOf(setting, node.state), turns: turnsBegun(node) }];
  }
  const children = await expand(setting, key, tip);
  node.children = children.map(({ first }) => first);
  await judgeChildren(setting, start, node);
  const isLast = reachedStopThreshold(setting, node, children);
  const kept = choose(setting, key, node, children).map((index) => children[index] as Stepped);
  for (const child of kept) {
    for (const each of phaseNodes(child)) each.kept = true;
    // Also if the environment ended the child: the threshold would have, and the turn is weighted for it.
    if (isLast && node.turn + 1 < setting.team.turns) child.node.done = child.node.endedEarly = true;
  }
  const grown = await settleAll(kept.map((child) => growFrom(setting, key, start, child)));
  return grown.flat();
}

/** Samples and steps the joint actions of the tip's state. After a call of tools there is one: a phase is one decision. */
async function expand(setting: RolloutSetting, key: Key, tip: Tip): Promise<Stepped[]> {
  if (setting.signal?.aborted === true) throw new TroupeError("cancelled", "sampling was cancelled");
  const { node, histories } = tip;
  const { branch, joint, continued } = setting.scheme;
  const branches = node.parent === null ? branch.root : branch.inner;
  const isContinuation = continued === "once" && !isOnLine(node.id);
  const count = node.pending === undefined && !isContinuation ? branches : 1;
  const roles = rolesToAct(setting.environment, setting.team, node);
  const acting = actingIn(setting, node);
  const drafts = await settleAll(
    roles.map((role) => sampleRole(setting, key, acting, role, histories, count)),
  );
  node.observations = observationsOf(drafts);
  const chosen = joint === "cross" ? eachWithEach(drafts) : aligned(drafts, count);
  return settleAll(chosen.map((each, index) => step(setting, key, tip, index, each)));
}

/** The node with what its roles are shown besides the state. */
export function actingIn({ comments, team }: RolloutSetting, node: GrowingNode): ActingNode {
  return {
    ...node,
    ...(comments === true ? { commentsFor: commentsSince(node) } : {}),
    ...(showsThinking(team) ? { thoughtsFor: thoughtsSince(node, team) } : {}),
  };
}

/** The observation of each acting seat: the same for all its samples. */
function observationsOf(drafts: readonly (readonly Draft[])[]): Record<string, Observation> {
  const shown = drafts.flatMap((ofRole) => ofRole.slice(0, 1));
  return Object.fromEntries(shown.map(({ agent, observation }) => [agent.role.seat, observation]));
}

/** The g-th sample of each role makes the g-th joint action. */
function aligned(drafts: readonly (readonly Draft[])[], count: number): Draft[][] {
  return Array.from({ length: count }, (_, index) => drafts.map((ofRole) => ofRole[index] as Draft));
}

/** Every combination, the last role's sample changing fastest. */
function eachWithEach(drafts: readonly (readonly Draft[])[]): Draft[][] {
  return drafts.reduce<Draft[][]>(
    (combinations, ofRole) => combinations.flatMap((before) => ofRole.map((draft) => [...before, draft])),
    [[]],
  );
}

/** Steps one joint action; as long as it calls tools, the roles that they answer act again. */
export async function step(
  setting: RolloutSetting,
  key: Key,
  tip: Tip,
  index: number,
  drafts: readonly Draft[],
): Promise<Stepped> {
  const { node, histories } = await stepOnce(setting, key, tip, index, drafts);
  if (node.pending === undefined) return { first: node, node, histories };
  const [last] = await expand(setting, key, { node, histories });
  if (last === undefined) throw new TroupeError("internal", "nobody acted after a tool");
  node.children = [last.first];
  return { ...last, first: node };
}

async function stepOnce(
  setting: RolloutSetting,
  key: Key,
  tip: Tip,
  index: number,
  drafts: readonly Draft[],
): Promise<Tip> {
  const { environment, team } = setting;
  const parent = tip.node;
  const replies = Object.fromEntries(drafts.map(({ agent, reply }) => [agent.role.seat, reply]));
  const stepKey = keyAt(key, parent.id, "step", index);
  const { position, result } = await callEnvironment(setting, stepKey, "step", (context) =>
    advance(environment, scheduleOf(team), parent, replies, context),
  );
  deepFreeze(position.state);
  const actions = drafts.map((draft) => actionOf(draft, parent));
  const node: GrowingNode = {
    ...position,
    id: parent.id === "" ? `${index}` : `${parent.id}.${index}`,
    parent,
    actions,
    rewarded: actions.map((action) => rewardedAction(action, result)),
    observations: {},
    score: outcomeOf(setting, position.state).score,
    children: [],
    kept: false,
  };
  rewardWaiting(node, result);
  return { node, histories: remember(tip.histories, drafts, node) };
}

/** The environment's rewards of replies that waited for other seats belong to the actions that wrote them. */
function rewardWaiting({ parent, pending }: GrowingNode, result: StepResult<Json>): void {
  if (pending !== undefined) return;
  const waiting = new Set(Object.keys(parent?.pending?.replies ?? {}));
  for (let at = parent; at !== null && waiting.size > 0; at = at.parent) {
    const { actions } = at;
    at.rewarded = at.rewarded.map((edge, index) => {
      const action = actions[index];
      return action !== undefined && waiting.delete(action.seat) ? rewardedAction(action, result) : edge;
    });
  }
}

function rewardedAction({ id, seat }: Action, { rewards, evidence }: StepResult<Json>): RewardedAction {
  const found = evidence?.[seat];
  return {
    action: id,
    reward: rewards[seat] ?? null,
    ...(found === undefined ? {} : { evidence: found }),
  };
}

/** A score that is not a number would silently spoil every difference that contains it. */
export function outcomeOf({ environment }: Pick<RolloutSetting, "environment">, state: Json): Outcome {
  return checkOutcome(environment, environment.outcome(state));
}

function actionOf(draft: Draft, parent: GrowingNode): Action {
  const { role } = draft.agent;
  const { tokens, logprobs, stopReason, policyVersion } = draft.sequence;
  return {
    id: actionId(parent.id, role.name, draft.sample),
    parent: parent.id,
    seat: role.seat,
    role: role.name,
    policy: role.policy,
    policyVersion,
    turn: parent.turn,
    phase: parent.phase,
    sample: draft.sample,
    frozen: role.frozen,
    prompt: draft.history.tokens,
    tokens,
    logprobs,
    ...recordedEntropies(draft.sequence),
    reply: draft.reply,
    stopReason,
  };
}

/** The histories after the drafts' actions led to the node. */
export function remember(
  histories: Histories,
  drafts: readonly Draft[],
  { pending }: GrowingNode,
): Histories {
  const remembering = drafts.filter(
    ({ agent: { role } }) => role.memory === "conversation" || pending?.answered[role.seat] !== undefined,
  );
  if (remembering.length === 0) return histories;
  const updated = remembering.map(({ agent, history, sequence }) => {
    return [agent.role.name, withAction(history, sequence.tokens)] as const;
  });
  return new Map([...histories, ...updated]);
}

/** Turns in which somebody acted. */
function turnsBegun(node: GrowingNode): number {
  return (node.actions[0]?.turn ?? -1) + 1;
}
