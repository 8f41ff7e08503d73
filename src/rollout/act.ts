/** Samples a role's actions in one state: one request, so that the prompt is computed once. */
import { observationOf } from "../environments/progression.ts";
import { toolsetOf } from "../environments/tool-use.ts";
import type { SampledSequence, SampleRequest } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { seedOf, keyAt, type Key } from "../random.ts";
import type { History } from "../text/history.ts";
import type { RoleName } from "../teams/team.ts";
import type { Reply } from "../text/replies.ts";
import { withComments, type Comment } from "./comments.ts";
import type { Action, Observation } from "./episode.ts";
import { answeredHistory, promptHistory, type Histories } from "./prompts.ts";
import type { GrowingNode } from "./record.ts";
import { agentOf, type Agent, type RolloutSetting } from "./setting.ts";
import { withThoughts, type Thought } from "./thinking.ts";

/** An action before the environment has stepped it. */
export interface Draft {
  readonly agent: Agent;
  /** What the role saw in the state. */
  readonly observation: Observation;
  /** The history that the action continues: its tokens are the prompt. */
  readonly history: History;
  readonly sequence: Pick<SampledSequence, "tokens" | "logprobs" | "entropies" | "stopReason"> &
    Pick<Action, "policyVersion">;
  readonly reply: Reply;
  /** Number of the role's sample in this state. */
  readonly sample: number;
}

/** The state a role acts in. */
export type ActingNode = Pick<GrowingNode, "id" | "state" | "turn" | "pending"> & {
  /** What a judge wrote about earlier actions. Absent: nothing, or the role is not told. */
  readonly commentsFor?: (role: RoleName) => readonly Comment[];
  /** What others thought. Absent: nothing that is shown. */
  readonly thoughtsFor?: (role: RoleName) => readonly Thought[];
};

/** Comments and thoughts that leave too few tokens for the action are left out: what they say must not end a run. */
function historyOf(
  agent: Agent,
  { turn, commentsFor, thoughtsFor }: ActingNode,
  histories: Histories,
  observation: Observation,
): History {
  const prompt = (shown: Observation, limits = agent): History =>
    promptHistory(limits, histories, shown, turn);
  if (commentsFor === undefined && thoughtsFor === undefined) return prompt(observation);
  const { role, tokenizer, maxLength } = agent;
  const thought = withThoughts(observation, thoughtsFor?.(role.name) ?? [], tokenizer);
  const commented = withComments(thought, commentsFor?.(role.name) ?? [], tokenizer);
  const history = prompt(commented, { ...agent, maxLength: Infinity });
  return history.tokens.length + role.maxTokens <= maxLength ? history : prompt(observation);
}

/** A role that is about to act. */
export interface Prompted {
  readonly agent: Agent;
  readonly observation: Observation;
  /** Its tokens are the prompt. Null: what its tools answered leaves no room to write. */
  readonly history: History | null;
}

/** What the role is shown in the node's state, and the history that its action continues. */
export async function promptRole(
  setting: RolloutSetting,
  node: ActingNode,
  roleName: string,
  histories: Histories,
): Promise<Prompted> {
  const agent = await withRoleTools(setting, agentOf(setting, roleName));
  const { role } = agent;
  const observation = observationOf(setting.environment, node, role.seat);
  const past = histories.get(role.name);
  const answers = node.pending?.answered[role.seat]?.messages;
  const history =
    past === undefined || answers === undefined
      ? historyOf(agent, node, histories, observation)
      : answeredHistory(agent, past, answers);
  return { agent, observation, history };
}

/** `count` drafts of the role's action in the node's state. `key` is the episode's. */
export async function sampleRole(
  setting: RolloutSetting,
  key: Key,
  node: ActingNode,
  roleName: string,
  histories: Histories,
  count: number,
): Promise<Draft[]> {
  const { agent, observation, history } = await promptRole(setting, node, roleName, histories);
  const { role, tokenizer } = agent;
  const past = histories.get(role.name);
  if (history === null) return past === undefined ? [] : [emptyDraft(agent, observation, past)];
  const request = {
    ...setting.sampling,
    policy: role.policy,
    prompt: history.tokens,
    count,
    maxTokens: role.maxTokens,
    stopTokens: tokenizer.endTokens,
    stopStrings: role.stop,
    seed: seedOf(keyAt(key, node.id, role.name)),
    continued: isContinued(setting, node, agent),
  };
  const cancellable = setting.signal === undefined ? {} : { signal: setting.signal };
  const sequences = await setting.engine.sample(request, cancellable);
  checkSampled(sequences, request);
  return sequences.map((sequence, sample) => ({
    agent,
    observation,
    history,
    sequence,
    reply: tokenizer.parseReply(sequence.tokens, sequence.stopReason === "length"),
    sample,
  }));
}

/** Whether a later prompt can begin with this one: in a conversation that goes on, or if tools may answer. */
function isContinued({ team }: RolloutSetting, { turn }: ActingNode, { role, tools }: Agent): boolean {
  return tools.length > 0 || (role.memory === "conversation" && turn + 1 < team.turns);
}

/**
 * Fewer actions would be a smaller group, and log-probabilities of other tokens a wrong ratio: both train without a word.
 * @throws TroupeError `bad_model`
 */
export function checkSampled(
  sequences: readonly SampledSequence[],
  { policy, count }: Pick<SampleRequest, "policy" | "count">,
): void {
  const uneven = sequences.find(({ tokens, logprobs, entropies = tokens }) =>
    [logprobs, entropies].some(({ length }) => length !== tokens.length),
  );
  const [wrong] = sequences.flatMap(({ logprobs }) => logprobs.find((one) => !Number.isFinite(one)) ?? []);
  if (sequences.length === count && uneven === undefined && wrong === undefined) return;
  const found =
    sequences.length !== count
      ? `${sequences.length} samples, but ${count} were requested`
      : uneven !== undefined
        ? `${uneven.logprobs.length} log-probabilities and ${(uneven.entropies ?? uneven.logprobs).length} entropies for a sample of ${uneven.tokens.length} tokens`
        : `the log-probability ${wrong} for a sampled token; its weights have diverged`;
  throw new TroupeError("bad_model", `${policy} gave ${found}.`);
}

/** The agent with the tools of its role, besides those of its seat. */
async function withRoleTools(setting: RolloutSetting, agent: Agent): Promise<Agent> {
  const { tools } = agent.role;
  if (tools === undefined) return agent;
  const { definitions } = await toolsetOf(tools.settings, setting);
  return { ...agent, tools: [...agent.tools, ...definitions] };
}

/** The answers of its tools left the role no room to write. */
function emptyDraft(agent: Agent, observation: Observation, history: History): Draft {
  const nothing = { tokens: new Int32Array(), logprobs: new Float32Array() };
  return {
    agent,
    observation,
    history,
    sequence: { ...nothing, stopReason: "length", policyVersion: null },
    reply: { text: "", truncated: true },
    sample: 0,
  };
}
