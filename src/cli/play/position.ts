/** A game in progress as a value, and one joint action in it. */
import type { ActionReward, Context, Environment, Json, Services } from "../../environments/environment.ts";
import {
  advance,
  plainContext,
  startEpisode,
  type Position as Place,
} from "../../environments/progression.ts";
import { keyAt, rootKey } from "../../random.ts";
import { TroupeError } from "../../errors.ts";
import { recordedTip } from "../../rollout/continue.ts";
import type { Action, Episode, EpisodeNode } from "../../rollout/episode.ts";
import { edgesOf, nodeOf as recordedNode, pathTo } from "../../rollout/navigate.ts";
import type { RolloutSetting } from "../../rollout/setting.ts";
import type { Histories } from "../../rollout/prompts.ts";
import { rolesToAct, scheduleOf } from "../../teams/acting.ts";
import type { Role, Team } from "../../teams/team.ts";
import type { History } from "../../text/history.ts";
import type { Reply } from "../../text/replies.ts";

export interface Game {
  readonly environment: Environment;
  readonly team: Team;
  /** What the environment is lent. Default: nothing. */
  readonly services?: Services;
}

export interface Position extends Place {
  /** The histories of roles with memory. */
  readonly histories: Histories;
  /** What was written so far, the last joint action first. */
  readonly said: readonly (readonly Pick<Action, "role" | "reply">[])[];
}

/** What one role wrote, and its history after that. */
export interface Written {
  readonly role: Role;
  readonly reply: Reply;
  readonly history?: History;
}

export interface PlayedPhase {
  readonly position: Position;
  readonly rewards: readonly { readonly written: Written; readonly reward: ActionReward | null }[];
}

/** `play` trains nothing, so the environment's random draws need not be reproducible. */
const contextOf = ({ services }: Game): Context =>
  plainContext(keyAt(rootKey(0), "play"), undefined, services);

export async function begin(game: Game, task: Json): Promise<Position> {
  return { ...(await startEpisode(game.environment, task, contextOf(game))), histories: new Map(), said: [] };
}

/** A recorded position. @throws TroupeError if the episode ended there, or its roles are shown something else today */
export async function recordedPosition(
  setting: RolloutSetting,
  episode: Episode,
  id: string,
): Promise<Position> {
  const recorded = recordedNode(episode, id);
  if (recorded.done)
    throw new TroupeError("bad_arguments", `${episode.id} ended at the node ${id}; name an earlier one`);
  const { histories } = await recordedTip(setting, episode, recorded);
  const { state, turn, phase, done, pending } = recorded;
  const said = pathTo(episode, recorded)
    .toReversed()
    .map((node) => edgesOf(episode, node).map(({ action: { role, reply } }) => ({ role, reply })));
  return { state, turn, phase, done, histories, said, ...(pending === undefined ? {} : { pending }) };
}

export function actingRoles({ environment, team }: Game, position: Position): readonly Role[] {
  const names = rolesToAct(environment, team, position);
  return team.roles.filter((role) => names.includes(role.name));
}

/** Plays the joint action of a phase. */
export async function playPhase(
  game: Game,
  { histories, said, ...place }: Position,
  acts: readonly Written[],
): Promise<PlayedPhase> {
  const replies = Object.fromEntries(acts.map(({ role, reply }) => [role.seat, reply]));
  const { environment, team } = game;
  const context = contextOf(game);
  const { position, result } = await advance(environment, scheduleOf(team), place, replies, context);
  return {
    position: {
      ...position,
      histories: remember(histories, acts, position),
      said: [acts.map(({ role, reply }) => ({ role: role.name, reply })), ...said],
    },
    rewards: acts.map((written) => ({ written, reward: result.rewards[written.role.seat] ?? null })),
  };
}

function remember(histories: Histories, acts: readonly Written[], { pending }: Place): Histories {
  const remembering = acts.flatMap(({ role, history }) => {
    const continues = role.memory === "conversation" || pending?.answered[role.seat] !== undefined;
    return continues && history !== undefined ? [[role.name, history] as const] : [];
  });
  return new Map([...histories, ...remembering]);
}

/** The position in the sampler's form. */
export function nodeOf(position: Position): Pick<EpisodeNode, "id" | "state" | "turn" | "pending"> {
  const { state, turn, phase, pending } = position;
  const calls = Object.values(pending?.answered ?? {}).map((answered) => answered.calls);
  const id = turn === 0 && phase === 0 && pending === undefined ? "" : [turn, phase, ...calls].join(".");
  return { id, state, turn, ...(pending === undefined ? {} : { pending }) };
}
