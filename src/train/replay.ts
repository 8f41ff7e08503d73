/**
 * Recorded episodes once more: their sampled tokens in the current environment, the tokens' log-probabilities under
 * weights, and their credit from another algorithm, other options, or a judge.
 */
import { isDeepStrictEqual } from "node:util";
import type { Algorithm, CreditedAction } from "../credit/algorithm.ts";
import { credit } from "../credit/credit.ts";
import type { Engine } from "../engines/engine.ts";
import type { Context, Environment, Reply, Services } from "../environments/environment.ts";
import {
  advance,
  namedSeats,
  observationOf,
  plainContext,
  startEpisode,
} from "../environments/progression.ts";
import { TroupeError } from "../errors.ts";
import { judgeEpisode, rewardBefore, withoutVerdicts } from "../judges/judge-episode.ts";
import type { Judge, JudgeUse } from "../judges/judge.ts";
import { mixedRewards } from "../judges/rewards.ts";
import { keyAt, type Key } from "../random.ts";
import type { Action, Episode, EpisodeNode, RewardedAction } from "../rollout/episode.ts";
import { isOnLine } from "../rollout/line.ts";
import { childrenOf, edgesOf, nodeOf, parentOf } from "../rollout/navigate.ts";
import { settleAll } from "../settle.ts";
import { scheduleOf } from "../teams/acting.ts";
import type { Team } from "../teams/team.ts";
import type { Tokenizer } from "../text/tokenizer.ts";

export interface ReplaySetting {
  readonly environment: Environment;
  /** The team that played. */
  readonly team: Team;
  /** The key that the episode's path is derived from. */
  readonly root: Key;
  /** By policy: replies are parsed from the tokens again. Without a tokenizer they are taken as recorded. */
  readonly tokenizers?: Readonly<Record<string, Pick<Tokenizer, "parseReply">>>;
  readonly services?: Services;
  readonly signal?: AbortSignal;
}

export interface Difference {
  readonly episode: string;
  /** The node that differs, or from which somebody acts; "": the root. */
  readonly node: string;
  readonly what:
    | "state"
    | "rendering"
    | "score"
    | "turn"
    | "phase"
    | "done"
    | "pending"
    | "seats"
    | "observation"
    | "reply"
    | "reward"
    | "evidence"
    | "outcome";
  /** Of an observation, a reply, a reward or evidence: the seat. */
  readonly seat?: string;
  readonly recorded: unknown;
  readonly now: unknown;
}

/**
 * Every difference between the record and what the environment does now. Each joint action starts from the recorded
 * state, so that one difference does not cause others later. Rewards are compared with the environment's own, ignoring
 * verdicts.
 * @throws whatever the environment throws
 */
export async function replayEpisode(setting: ReplaySetting, episode: Episode): Promise<Difference[]> {
  const key = keyAt(setting.root, ...episode.path);
  const context = (...path: readonly (string | number)[]): Context => ({
    ...plainContext(keyAt(key, ...path), setting.signal),
    services: setting.services ?? {},
  });
  const [root] = episode.nodes;
  if (root === undefined) return [];
  const { state } = await startEpisode(setting.environment, episode.task, context("start"));
  const found = [
    ...differing(episode, root, [["state", root.state, state]]),
    ...renderedDifferently(setting, episode, root),
  ];
  for (const node of episode.nodes) {
    const children = childrenOf(episode, node);
    if (children.length > 0) found.push(...shownDifferently(setting, episode, node));
    for (const [index, child] of children.entries()) {
      const played = context(node.id, "step", index);
      found.push(...(await steppedDifferently(setting, episode, node, child, played)));
    }
  }
  return [...found, ...endedDifferently(setting, episode)];
}

type Pair = readonly [what: Difference["what"], recorded: unknown, now: unknown, seat?: string];

function differing({ id }: Episode, node: EpisodeNode, pairs: readonly Pair[]): Difference[] {
  return pairs
    .filter(([, recorded, now]) => !isDeepStrictEqual(asJson(recorded), asJson(now)))
    .map(([what, recorded, now, seat]) => {
      return { episode: id, node: node.id, what, ...(seat === undefined ? {} : { seat }), recorded, now };
    });
}

/** The record went through JSON, so what is compared with it must too. */
function asJson(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

function shownDifferently(
  { environment, team }: ReplaySetting,
  episode: Episode,
  node: EpisodeNode,
): Difference[] {
  const seats = Object.keys(node.observations);
  const now = namedSeats(environment, scheduleOf(team), node);
  return differing(episode, node, [
    ["seats", seats.toSorted(), now.toSorted()],
    ...seats.map((seat): Pair => [
      "observation",
      node.observations[seat],
      observationOf(environment, node, seat),
      seat,
    ]),
  ]);
}

async function steppedDifferently(
  setting: ReplaySetting,
  episode: Episode,
  node: EpisodeNode,
  child: EpisodeNode,
  context: Context,
): Promise<Difference[]> {
  const { environment, team } = setting;
  const actions = edgesOf(episode, child).map(({ action }) => action);
  const replies = Object.fromEntries(actions.map((action) => [action.seat, replyOf(setting, action)]));
  const { position, result } = await advance(environment, scheduleOf(team), node, replies, context);
  return [
    ...differing(episode, child, [
      ...actions.map(({ seat, reply }): Pair => ["reply", reply, replies[seat], seat]),
      ...rewardedBy(episode, child).map(([seat, edge]): Pair => {
        return ["reward", rewardBefore(edge), result.rewards[seat] ?? null, seat];
      }),
      ...rewardedBy(episode, child).flatMap(([seat, { evidence }]): Pair[] => {
        return evidence === undefined ? [] : [["evidence", evidence, result.evidence?.[seat], seat]];
      }),
      ["state", child.state, position.state],
      ["turn", child.turn, position.turn],
      ["phase", child.phase, position.phase],
      ["done", child.done, position.done || child.endedEarly === true],
      ["pending", child.pending, position.pending],
    ]),
    ...renderedDifferently(setting, episode, child),
  ];
}

/** The actions that the step to the node rewarded: its own, and replies that had waited for seats with tools. */
function rewardedBy(episode: Episode, node: EpisodeNode): (readonly [seat: string, edge: RewardedAction])[] {
  const rewarded = new Map<string, RewardedAction>();
  for (let at: EpisodeNode | null = node; at !== null; at = parentOf(episode, at)) {
    if (at !== node && (node.pending !== undefined || at.pending === undefined)) break;
    for (const [index, { action }] of edgesOf(episode, at).entries()) {
      const edge = at.actions[index];
      const waits = node.pending?.replies[action.seat] !== undefined;
      if (edge !== undefined && !waits && !rewarded.has(action.seat)) rewarded.set(action.seat, edge);
    }
  }
  return [...rewarded];
}

function replyOf({ tokenizers }: ReplaySetting, { policy, tokens, stopReason, reply }: Action): Reply {
  return tokenizers?.[policy]?.parseReply(tokens, stopReason === "length") ?? reply;
}

/** The parts of a state that people and returns see. */
function renderedDifferently(
  { environment }: ReplaySetting,
  episode: Episode,
  node: EpisodeNode,
): Difference[] {
  const { state, rendered, score } = node;
  return differing(episode, node, [
    ...(rendered === undefined ? [] : [["rendering", rendered, environment.render(state)] as const]),
    ...(score === undefined ? [] : [["score", score, environment.outcome(state).score] as const]),
  ]);
}

function endedDifferently({ environment }: ReplaySetting, episode: Episode): Difference[] {
  return episode.ends.flatMap(({ node: id, outcome }) => {
    const node = nodeOf(episode, id);
    return differing(episode, node, [["outcome", outcome, environment.outcome(node.state)]]);
  });
}

/** A policy in the engine, and the version of its weights. */
export interface LoadedPolicy {
  readonly name: string;
  readonly version: number;
}

export interface LogprobComparison {
  readonly tokens: number;
  /** Largest difference in nats. */
  readonly largest: number;
}

/**
 * Actions sampled by exactly these weights; others are skipped.
 * @param loaded the policy of an action's role; undefined: none
 */
export async function compareLogprobs(
  engine: Pick<Engine, "forward">,
  { actions }: Episode,
  loaded: (action: Action) => LoadedPolicy | undefined,
): Promise<LogprobComparison> {
  const own = actions.filter((one) => one.tokens.length > 0 && loaded(one)?.version === one.policyVersion);
  if (own.length === 0) return { tokens: 0, largest: 0 };
  const shared = [...Map.groupBy(own, (one) => `${loaded(one)?.name} ${one.prompt.join(",")}`).values()];
  const data = shared.map((members) => {
    const [first] = members as [Action, ...Action[]];
    const continuations = members.map(({ tokens }) => ({ tokens }));
    return { policy: loaded(first)?.name ?? "", prompt: first.prompt, continuations };
  });
  const { logprobs } = await engine.forward(data);
  const differences = shared.flat().flatMap((action, index) => {
    return Array.from(action.logprobs, (recorded, token) =>
      Math.abs(recorded - (logprobs[index]?.[token] ?? Number.NaN)),
    );
  });
  return { tokens: differences.length, largest: differences.reduce((most, one) => Math.max(most, one), 0) };
}

export interface Rescoring {
  readonly algorithm: Algorithm;
  /** Absent: rewards stay as recorded. */
  readonly judge?: RescoringJudge;
}

export interface RescoringJudge {
  readonly judge: Judge;
  readonly use: JudgeUse;
  /** False: the judge is not told how episodes ended, as in training if it was asked while they grew. Default: true. */
  readonly knowsEnds?: boolean;
  /** All episodes with normalised rewards. Absent: scores are not normalised. */
  readonly normalised?: ((episodes: readonly Episode[]) => Promise<readonly Episode[]>) | undefined;
}

/**
 * Credits recorded episodes again.
 * @param episodes Of one step: comparisons and whitening over a batch apply to these.
 * @throws TroupeError `unsupported` if the algorithm needs something that is not recorded, or another tree
 */
export async function rescore(
  episodes: readonly Episode[],
  { algorithm, judge }: Rescoring,
): Promise<CreditedAction[]> {
  for (const episode of episodes) checkRescorable(episode, algorithm);
  if (judge === undefined) return credit(episodes, algorithm);
  const judged = await settleAll(episodes.map((episode) => judgedAnew(episode, judge)));
  return credit((await judge.normalised?.(judged)) ?? judged, algorithm);
}

async function judgedAnew(
  episode: Episode,
  { judge, use, knowsEnds = true }: RescoringJudge,
): Promise<Episode> {
  const { ends } = episode;
  const bare = withoutVerdicts(episode);
  const judged = await judgeEpisode(knowsEnds ? bare : { ...bare, ends: [] }, judge, use);
  return mixedRewards({ ...judged, ends }, use);
}

/** @throws TroupeError `unsupported` */
function checkRescorable(episode: Episode, { name, critic, kl, sampling, grouping }: Algorithm): void {
  if (grouping.spans === "run")
    throw lacking(
      `${name} compares with all steps before, from the first on`,
      "choose a baseline of the batch, or none",
    );
  if (critic !== null)
    throw lacking(`${name} needs the values of a critic`, "choose an algorithm without one");
  if (kl?.where === "reward") {
    const problem = `${name} subtracts KL to a reference from rewards, and needs the reference's log-probabilities`;
    throw lacking(problem, "rescore it without KL, kl.where=none, or with another algorithm");
  }
  if (sampling.keep !== "all") return;
  if (episode.nodes.some(({ kept }) => !kept))
    throw new TroupeError(
      "unsupported",
      `${name} compares whole trajectories, and the episode ${episode.id} continued from only one of the sampled actions; ` +
        "choose an algorithm that compares the actions of one state, such as at-grpo",
    );
  const branching = episode.nodes.find((node) => !isOnLine(node.id) && childrenOf(episode, node).length > 1);
  if (sampling.continued !== "once" || branching === undefined) return;
  throw new TroupeError(
    "unsupported",
    `${name} compares the actions of one trajectory's states only, and the episode ${episode.id} has several actions in ` +
      `the state ${branching.id} of an alternative; choose an algorithm that compares these too, such as c3 with continued=tree`,
  );
}

function lacking(problem: string, fix: string): TroupeError {
  return new TroupeError("unsupported", `${problem}, which a run's folder does not keep; ${fix}`);
}
