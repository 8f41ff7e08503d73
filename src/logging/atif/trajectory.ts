/**
 * A kept trajectory as a document of the Agent Trajectory Interchange Format (ATIF 1.8, of Harbor; its validator is
 * `harbor.utils.trajectory_validator`).
 *
 * ATIF has one agent and its subagents, to which it delegates. The roles of a team are peers that act in turn, so a document
 * has one list of steps with the actions of all roles in the order in which they acted. What a role was shown is a step of
 * its own before its action. `model_name` of a step is the role's policy, and `extra.role` the role.
 */
import type { Message, ToolCall } from "../../environments/environment.ts";
import type { Action, EpisodeEnd, EpisodeNode, Observation } from "../../rollout/episode.ts";
import { playedEnds } from "../../rollout/line.ts";
import { edgesOf, nodeOf, parentOf, pathTo, rootOf, type Occurrence } from "../../rollout/navigate.ts";
import type { ActionCredit, StoredEpisode } from "../../rollout/stored.ts";
import { sum } from "../../statistics.ts";

export const atifVersion = "ATIF-v1.8";

/** What is the same for all trajectories of a run. */
export interface AtifRun {
  readonly name: string;
  readonly recipe: string;
  /** Of Troupe. */
  readonly version: string;
}

export type AtifDocument = Readonly<Record<string, unknown>>;

/**
 * One document for each kept trajectory, in their order. An episode without an end has none: nothing rewards it. Of a
 * branched one the first trajectory alone: the others are no play of the team, and other viewers would count them as such.
 */
export function atifDocuments(run: AtifRun, stored: StoredEpisode): AtifDocument[] {
  return playedEnds(stored.episode.ends, stored.entry.branched).map((end) => documentOf(run, stored, end));
}

function documentOf(run: AtifRun, stored: StoredEpisode, end: EpisodeEnd): AtifDocument {
  const { entry, episode } = stored;
  const { success, score } = end.outcome;
  const path = pathTo(episode, nodeOf(episode, end.node));
  const occurrences = path.flatMap((node) => edgesOf(episode, node));
  const steps = [taskStep(stored), ...occurrences.flatMap((one) => stepsOf(stored, one))];
  const actions = occurrences.map(({ action }) => action);
  const session = `${run.name}/${entry.id}`;
  return {
    schema_version: atifVersion,
    session_id: session,
    trajectory_id: `${session}/${end.node}`,
    agent: { name: "troupe", version: run.version, extra: { recipe: run.recipe, roles: rolesOf(actions) } },
    steps: steps.map((step, index) => ({ step_id: index + 1, ...step })),
    notes: "The actions of all roles of a team, in the order in which they acted: extra.role names the role.",
    final_metrics: {
      total_prompt_tokens: sum(actions.map(({ prompt }) => prompt.length)),
      total_completion_tokens: sum(actions.map(({ tokens }) => tokens.length)),
      total_steps: steps.length,
      extra: { reward: score, success },
    },
    extra: {
      run: run.name,
      episode: entry.id,
      step: entry.step,
      ...(entry.evaluation === undefined ? {} : { evaluation: entry.evaluation }),
      split: episode.split,
      task: episode.task,
      reward: score,
      success,
      turns: end.turns,
      ...(end.problem === undefined ? {} : { problem: end.problem }),
    },
  };
}

/** The role, its seat and the policy that plays it. */
function rolesOf(actions: readonly Action[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    actions.map(({ role, seat, policy, frozen }) => [role, { seat, policy, frozen }]),
  );
}

type Step = Readonly<Record<string, unknown>>;

function taskStep({ episode }: StoredEpisode): Step {
  const { rendered } = rootOf(episode);
  return { source: "system", message: rendered ?? JSON.stringify(episode.task), extra: { what: "task" } };
}

/** What the role was shown, unless its tools answered, and what it did. */
function stepsOf(stored: StoredEpisode, occurrence: Occurrence): Step[] {
  const { node, action, episode } = occurrence;
  const parent = parentOf(episode, node);
  const shown = parent?.observations[action.seat];
  const isAnswered = parent?.pending?.answered[action.seat] !== undefined;
  const step = actionStep(stored, occurrence);
  if (isAnswered || shown === undefined) return [step];
  return [{ source: "user", message: textOf(shown), extra: { role: action.role, turn: action.turn } }, step];
}

function textOf(observation: Observation): string {
  if (typeof observation === "string") return observation;
  return observation.map(({ role, content }) => `${role}: ${content}`).join("\n\n");
}

function actionStep({ episode, credit }: StoredEpisode, { node, action, reward }: Occurrence): Step {
  const { reply, prompt, tokens, logprobs } = action;
  const calls = reply.calls ?? [];
  const answers = node.pending?.answered[action.seat]?.messages ?? [];
  const given = credit?.find((one) => one.action === action.id);
  const edge = node.actions.find((one) => one.action === action.id);
  return {
    source: "agent",
    model_name: action.policy,
    message: reply.text,
    ...(reply.thinking === undefined ? {} : { reasoning_content: reply.thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call, index) => callOf(action, call, index)) }),
    ...(answers.length === 0 ? {} : { observation: { results: answersTo(action, calls, answers) } }),
    metrics: {
      prompt_tokens: prompt.length,
      completion_tokens: tokens.length,
      prompt_token_ids: [...prompt],
      completion_token_ids: [...tokens],
      ...metricsOf(logprobs),
    },
    llm_call_count: 1,
    extra: {
      role: action.role,
      seat: action.seat,
      turn: action.turn,
      phase: action.phase,
      action: action.id,
      policy_version: action.policyVersion,
      stop_reason: action.stopReason,
      frozen: action.frozen,
      ...(action.masked === undefined ? {} : { masked: action.masked }),
      reward,
      ...(edge?.verdict === undefined ? {} : { verdict: edge.verdict }),
      ...(edge?.evidence === undefined ? {} : { evidence: edge.evidence }),
      ...creditOf(given),
      ...stateAfter(node, episode.ends),
    },
  };
}

/** JSON has no infinity. A service may give a token that it calls impossible −∞, and the format has no half lists. */
function metricsOf(logprobs: Action["logprobs"]): Step {
  if (!logprobs.every(Number.isFinite)) return {};
  return {
    logprobs: [...logprobs],
    extra: { logprobs: "of the whole distribution at temperature 1, in nats" },
  };
}

function creditOf(credit: ActionCredit | undefined): Step {
  if (credit === undefined) return {};
  const { action: _, leftOut, ...rest } = credit;
  return { ...rest, ...(leftOut === undefined ? {} : { left_out: leftOut }) };
}

/** The final state of the trajectory as the environment draws it. */
function stateAfter({ id, rendered }: EpisodeNode, ends: readonly EpisodeEnd[]): Step {
  return rendered !== undefined && ends.some(({ node }) => node === id) ? { final_state: rendered } : {};
}

/** Calls that a model got wrong have no name, and say what is wrong. */
function callOf(action: Action, { name, arguments: given, id, error }: ToolCall, index: number): Step {
  return {
    tool_call_id: callId(action, id, index),
    function_name: name,
    arguments: given,
    ...(error === undefined ? {} : { extra: { error } }),
  };
}

/** Tools answer in the order of the calls. Models repeat ids, or give none. */
function callId(action: Action, id: string | undefined, index: number): string {
  return `${action.id}/${index}${id === undefined ? "" : `/${id}`}`;
}

function answersTo(action: Action, calls: readonly ToolCall[], answers: readonly Message[]): Step[] {
  return answers.map(({ content }, index) => {
    const call = calls[index];
    return call === undefined ? { content } : { source_call_id: callId(action, call.id, index), content };
  });
}
