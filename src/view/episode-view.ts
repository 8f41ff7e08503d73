/** A stored episode as the page shows it: every candidate with what it earned, and what was dropped and why. */
import type { RewardedAction, Action, EpisodeNode, Observation } from "../rollout/episode.ts";
import { reasonsDropped } from "./dropped.ts";
import type { ActionCredit, StoredEpisode } from "../rollout/stored.ts";
import { sum } from "../statistics.ts";
import type { ActionLine, EdgeView, EpisodeView, NodeView } from "./api.ts";

export type Neighbours = Pick<EpisodeView, "newer" | "older" | "isExact">;

/** What a run knows about its episodes that they do not. */
export interface Surroundings extends Neighbours {
  readonly run: string;
  readonly draw: (state: unknown) => string | undefined;
  readonly play: (node: EpisodeNode) => string | undefined;
}

export function episodeView(stored: StoredEpisode, around: Surroundings): EpisodeView {
  const { run, newer, older, isExact } = around;
  const { entry, episode, credit } = stored;
  const why = reasonsDropped(stored);
  const creditOf = new Map(credit?.map((one) => [one.action, one]));
  const lines = episode.actions.map((action) =>
    actionLine(action, creditOf.get(action.id), why.get(action.id)),
  );
  return {
    id: entry.id,
    run,
    step: entry.step,
    team: entry.evaluation?.team ?? null,
    split: episode.split,
    success: entry.success,
    score: entry.score,
    ...(entry.branched === true ? { branched: true } : {}),
    task: episode.task,
    taskText: episode.nodes[0]?.rendered ?? "",
    roles: [...new Set(inTurn(episode.actions).map(({ role }) => role))],
    nodes: episode.nodes.map((node) => nodeView(node, around)),
    actions: Object.fromEntries(lines.map((line) => [line.id, line])),
    ends: episode.ends.map(({ node, outcome, turns, problem }) => {
      return { node, ...outcome, turns, ...(problem === undefined ? {} : { problem }) };
    }),
    newer,
    older,
    ...(isExact === undefined ? {} : { isExact }),
  };
}

function inTurn(actions: readonly Action[]): readonly Action[] {
  return actions.toSorted((one, other) => one.turn - other.turn || one.phase - other.phase);
}

function nodeView(node: EpisodeNode, { draw, play }: Surroundings): NodeView {
  const { id, parent, turn, phase, kept, done, score, rendered = "", observations, actions, state } = node;
  const [drawing, command] = [draw(state), done ? undefined : play(node)];
  return {
    id,
    parent,
    turn,
    phase,
    kept,
    done,
    ...(score === undefined ? {} : { score }),
    rendered,
    ...(drawing === undefined ? {} : { drawing }),
    observations: Object.fromEntries(
      Object.entries(observations).map(([seat, seen]) => [seat, textOf(seen)]),
    ),
    actions: actions.map(edgeView),
    ...(command === undefined ? {} : { play: command }),
  };
}

function textOf(observation: Observation): string {
  if (typeof observation === "string") return observation;
  return observation.map(({ role, content }) => `${role}: ${content}`).join("\n");
}

function edgeView({ action, reward, verdict, evidence, environmentReward }: RewardedAction): EdgeView {
  return {
    action,
    team: reward?.team ?? null,
    local: reward?.local ?? null,
    judge: verdict !== undefined && "score" in verdict ? verdict.score : null,
    parts: reward?.parts ?? {},
    ...(reward?.reason === undefined ? {} : { reason: reward.reason }),
    ...(verdict === undefined ? {} : { verdict }),
    ...(environmentReward === undefined
      ? {}
      : { environmentReward: { team: environmentReward.team, local: environmentReward.local } }),
    ...(evidence === undefined ? {} : { evidence }),
  };
}

export function actionLine(action: Action, credit?: ActionCredit, droppedWhy?: string): ActionLine {
  const { branch, prompt, tokens, logprobs } = action;
  return {
    id: action.id,
    parent: action.parent,
    seat: action.seat,
    role: action.role,
    policy: action.policy,
    policyVersion: action.policyVersion,
    turn: action.turn,
    phase: action.phase,
    sample: action.sample,
    frozen: action.frozen,
    ...(branch === undefined ? {} : { branch }),
    stopReason: action.stopReason,
    promptTokens: prompt.length,
    tokens: tokens.length,
    reply: action.reply,
    logprob: finite(sum([...logprobs])),
    advantage: credit?.advantage ?? null,
    return: credit?.return ?? null,
    group: credit?.group ?? null,
    ...(droppedWhy === undefined ? {} : { droppedWhy }),
  };
}

export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
