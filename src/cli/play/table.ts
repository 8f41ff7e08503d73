/** A game in progress as a value, and one joint action played in it. */
import type { ActionReward, Environment, Json } from "../../environments/environment.ts";
import type { EpisodeNode } from "../../rollout/episode.ts";
import type { Histories } from "../../rollout/prompts.ts";
import type { Role, Team } from "../../teams/team.ts";
import type { History } from "../../text/history.ts";

export interface Game {
  readonly environment: Environment;
  readonly team: Team;
}

export interface Position {
  readonly state: Json;
  readonly turn: number;
  readonly phase: number;
  readonly done: boolean;
  /** What the roles that remember have seen and written. */
  readonly histories: Histories;
}

/** What one role wrote, and what it remembers of it. */
export interface Written {
  readonly role: Role;
  readonly text: string;
  readonly history?: History;
}

export interface Played {
  readonly position: Position;
  readonly rewards: readonly { readonly written: Written; readonly reward: ActionReward }[];
}

export function begin({ environment }: Game, task: Json): Position {
  return { state: environment.start(task), turn: 0, phase: 0, done: false, histories: new Map() };
}

export function rolesToAct({ team }: Game, position: Position): readonly Role[] {
  const names = team.phases[position.phase] ?? [];
  return team.roles.filter((role) => names.includes(role.name));
}

/** Plays the joint action of a phase. */
export function playPhase({ environment, team }: Game, position: Position, acts: readonly Written[]): Played {
  const texts = Object.fromEntries(acts.map(({ role, text }) => [role.seat, text]));
  const result = environment.step(position.state, texts);
  const endsTurn = position.phase + 1 === team.phases.length;
  const turn = endsTurn ? position.turn + 1 : position.turn;
  const next = endsTurn && !result.done ? environment.endTurn?.(result.state) : undefined;
  return {
    position: {
      state: next ?? result.state,
      turn,
      phase: endsTurn ? 0 : position.phase + 1,
      done: result.done || turn >= team.turns,
      histories: remember(position.histories, acts),
    },
    rewards: acts.flatMap((written) => {
      const reward = result.rewards[written.role.seat];
      return reward === undefined ? [] : [{ written, reward }];
    }),
  };
}

function remember(histories: Histories, acts: readonly Written[]): Histories {
  const remembering = acts.flatMap(({ role, history }) =>
    role.memory === "conversation" && history !== undefined ? [[role.name, history] as const] : [],
  );
  return new Map([...histories, ...remembering]);
}

/** The position as the sampler sees a state: a tree of its own. */
export function nodeOf({ state, turn, phase, done }: Position): EpisodeNode {
  const id = turn === 0 && phase === 0 ? "" : `${turn}.${phase}`;
  return { id, parent: null, state, turn, phase, actions: [], done, children: [], kept: true };
}
