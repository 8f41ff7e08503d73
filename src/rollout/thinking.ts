/** What roles thought, in the prompts of later roles: only that of roles with `showThinking`. */
import type { RoleName, Team } from "../teams/team.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { fenced } from "../text/fences.ts";
import type { Action, Observation } from "./episode.ts";
import type { GrowingNode } from "./record.ts";
import { extended } from "./shown.ts";

export interface Thought {
  readonly role: RoleName;
  readonly text: string;
}

/** Of longer thinking the end is shown. */
const longest = 4000;

export function showsThinking({ roles }: Team): boolean {
  return roles.some(({ showThinking }) => showThinking === true);
}

/** What the others thought in the role's last joint action and since, in the order of the actions. */
export function thoughtsSince(node: GrowingNode, team: Team): (role: RoleName) => readonly Thought[] {
  const jointActions: (readonly Said[])[] = [];
  for (let at: GrowingNode | null = node; at !== null; at = at.parent) jointActions.push(at.actions);
  return (role) => thoughtsIn(jointActions, team, role);
}

type Said = Pick<Action, "role" | "reply">;

/** @param jointActions the last one first */
export function thoughtsIn(
  jointActions: readonly (readonly Said[])[],
  { roles }: Team,
  role: RoleName,
): readonly Thought[] {
  const shown = new Set(roles.filter(({ showThinking }) => showThinking === true).map(({ name }) => name));
  const own = jointActions.findIndex((actions) => actions.some((action) => action.role === role));
  const since = own === -1 ? jointActions : jointActions.slice(0, own + 1);
  const others = since.toReversed().flat();
  return others.filter((one) => one.role !== role && shown.has(one.role)).flatMap(thoughtOf);
}

function thoughtOf({ role, reply: { thinking } }: Said): Thought[] {
  return thinking === undefined ? [] : [{ role, text: thinking }];
}

/** The observation with the thoughts at its end, in fences that they cannot close. */
export function withThoughts(
  observation: Observation,
  thoughts: readonly Thought[],
  tokenizer: Tokenizer,
): Observation {
  return extended(observation, textOf(thoughts), tokenizer);
}

export function textOf(thoughts: readonly Thought[]): string {
  const shown = thoughts.map(
    ({ role, text }) => `Thinking of ${role}:\n${fenced(text.slice(-longest).toWellFormed(), "")}`,
  );
  return shown.join("\n\n");
}
