/**
 * How much a role's words change what the next role does. A reply is recorded with its prompt. The prompt is made again as
 * it would have been had the role before written another of its samples in the same state, and the reply's
 * log-probabilities are computed under both. Nothing is sampled, and no policy changes.
 *
 * Both prompts come from the environment's `observe`, so a reply is only used if its own prompt comes out as recorded,
 * token for token. It does not if the prompt also has what is in no state: a conversation, calls of tools, thoughts of
 * others, a judge's comments.
 */
import { observationOf } from "../environments/progression.ts";
import type { Datum, Engine } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { childrenOf, edgesOf, nodeOf, parentOf } from "../rollout/navigate.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { agentOf, type RolloutPolicy } from "../rollout/setting.ts";
import { sum } from "../statistics.ts";
import { rolesToAct } from "../teams/acting.ts";
import type { RoleName, Team } from "../teams/team.ts";
import type { Run } from "./state.ts";

interface Acting {
  readonly environment: Environment;
  readonly team: Team;
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
}

/** A recorded reply, and its prompt with another message of the role before. */
export interface Probe {
  /** The role whose message is replaced. */
  readonly writer: RoleName;
  readonly reply: Action;
  readonly replaced: Int32Array;
}

/** What was measured of a role, on so many replies. */
export interface Influence {
  /** In nats per token. */
  readonly influence: number;
  readonly influenceReplies: number;
}

/** By role; roles without a probe are left out. Empty: it is not due. */
export async function influenceIfDue(
  { recipe, environment, engine, stage, sampling }: Run,
  stageStep: number,
  episodes: readonly Episode[],
): Promise<ReadonlyMap<RoleName, Influence>> {
  const { every, replies } = influenceOf(recipe, environment);
  if (every === 0 || (stageStep - 1) % every !== 0) return new Map();
  const acting = { environment, team: stage.teams[0].team, policies: stage.policies };
  return influences(engine, probesIn(acting, episodes, replies), sampling);
}

/** How often a run measures influence, and on how many replies of each role. `every` is 0: never. */
export function influenceOf(
  { watch }: Pick<Run["recipe"], "watch">,
  { drive }: Pick<Environment, "drive">,
): { readonly every: number; readonly replies: number } {
  // What a program shows its roles is in no state.
  const isNever = watch === undefined || watch === "off" || drive !== undefined;
  return isNever ? { every: 0, replies: 0 } : watch.influence;
}

/** At most `most` for each writer, spread evenly over the episodes. */
export function probesIn(acting: Acting, episodes: readonly Episode[], most: number): readonly Probe[] {
  const found = episodes.flatMap((episode) => readersIn(episode));
  return [...Map.groupBy(found, ({ writer }) => writer).values()].flatMap((own) => {
    const count = Math.min(most, own.length);
    const chosen = Array.from({ length: count }, (_, at) => own[Math.floor((at * own.length) / count)]);
    return chosen.flatMap((reader) => probeOf(acting, reader as Reader));
  });
}

/** A reply to a message, and the state in which another sample of the message would have put its role. */
interface Reader {
  readonly episode: Episode;
  readonly writer: RoleName;
  readonly reply: Action;
  readonly other: EpisodeNode;
}

function readersIn(episode: Episode): Reader[] {
  const first = episode.actions.filter(({ sample, tokens }) => sample === 0 && tokens.length > 0);
  return first.flatMap((reply) => {
    const node = nodeOf(episode, reply.parent);
    const written = edgesOf(episode, node).filter(({ action }) => action.role !== reply.role);
    return written.flatMap(({ action: { role: writer } }) => {
      const other = siblingWithout(episode, node, writer);
      return other === null ? [] : [{ episode, writer, reply, other }];
    });
  });
}

/**
 * The next state after the node, in the order of samples, in which only this role's message differs. Null: none. Where
 * several roles act at once, samples of all differ together, unless each is combined with each.
 */
function siblingWithout(episode: Episode, node: EpisodeNode, writer: RoleName): EpisodeNode | null {
  const parent = parentOf(episode, node);
  if (parent === null || node.pending !== undefined || parent.pending !== undefined) return null;
  const siblings = childrenOf(episode, parent);
  const at = siblings.indexOf(node);
  const inOrder = [...siblings.slice(at + 1), ...siblings.slice(0, at)];
  const own = edgesOf(episode, node);
  const differs = (other: EpisodeNode): boolean =>
    edgesOf(episode, other).every(({ action }, index) => {
      const same = own[index]?.action;
      return action.role === writer ? action.reply.text !== same?.reply.text : action.id === same?.id;
    });
  return inOrder.find((other) => !other.done && other.pending === undefined && differs(other)) ?? null;
}

function probeOf({ environment, team, policies }: Acting, reader: Reader): readonly Probe[] {
  const { episode, writer, reply, other } = reader;
  if (!rolesToAct(environment, team, other).includes(reply.role)) return [];
  const agent = agentOf({ environment, team, policies }, reply.role);
  const promptIn = (node: EpisodeNode): Int32Array =>
    promptHistory(
      { ...agent, maxLength: Infinity },
      new Map(),
      observationOf(environment, node, reply.seat),
      reply.turn,
    ).tokens;
  if (!areSame(promptIn(nodeOf(episode, reply.parent)), reply.prompt)) return [];
  const replaced = promptIn(other);
  return replaced.length + reply.tokens.length > agent.maxLength ? [] : [{ writer, reply, replaced }];
}

function areSame(one: Int32Array, other: Int32Array): boolean {
  return one.length === other.length && one.every((token, index) => token === other[index]);
}

/**
 * Mean |log p(token | prompt) − log p(token | replaced prompt)| over the tokens of each writer's probes, in nats. Both by
 * the engine's forward pass: the sampler's log-probabilities may differ from it in precision.
 */
export async function influences(
  engine: Pick<Engine, "forward">,
  probes: readonly Probe[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<RoleName, Influence>> {
  if (probes.length === 0) return new Map();
  const data = probes.flatMap(({ reply: { policy, prompt, tokens }, replaced }): Datum[] => [
    { policy, prompt, continuations: [{ tokens }] },
    { policy, prompt: replaced, continuations: [{ tokens }] },
  ]);
  const { logprobs } = await engine.forward(data, signal === undefined ? {} : { signal });
  const changes = probes.map(({ writer, reply }, index) => {
    const [before, after] = [logprobs[2 * index], logprobs[2 * index + 1]];
    const change = Array.from(reply.tokens, (_, at) =>
      Math.abs((before?.[at] ?? NaN) - (after?.[at] ?? NaN)),
    );
    if (change.every(Number.isFinite)) return { writer, change };
    const what = `log-probabilities of ${reply.tokens.length} tokens of role ${reply.role} that are missing or not finite`;
    throw new TroupeError("bad_model", `${reply.policy} gave ${what}; its weights have diverged.`);
  });
  return new Map(
    [...Map.groupBy(changes, ({ writer }) => writer)].map(([writer, own]) => {
      const all = own.flatMap(({ change }) => change);
      return [writer, { influence: sum(all) / all.length, influenceReplies: own.length }];
    }),
  );
}
