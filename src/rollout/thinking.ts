/** What roles thought, in the prompts of later roles: only that of roles with `showThinking`. */
import type { RoleName, Team } from "../teams/team.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { fenced } from "../text/fences.ts";
import type { Observation } from "./episode.ts";
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
export function thoughtsSince(node: GrowingNode, { roles }: Team): (role: RoleName) => readonly Thought[] {
  const shown = new Set(roles.filter(({ showThinking }) => showThinking === true).map(({ name }) => name));
  return (role) => {
    const since: Thought[][] = [];
    for (let at: GrowingNode | null = node; at !== null; at = at.parent) {
      since.unshift(thoughtsOf(at).filter((one) => one.role !== role && shown.has(one.role)));
      if (at.actions.some((action) => action.role === role)) break;
    }
    return since.flat();
  };
}

function thoughtsOf({ actions }: GrowingNode): Thought[] {
  return actions.flatMap(({ role, reply: { thinking } }) =>
    thinking === undefined ? [] : [{ role, text: thinking }],
  );
}

/** The observation with the thoughts at its end, in fences that they cannot close. */
export function withThoughts(
  observation: Observation,
  thoughts: readonly Thought[],
  tokenizer: Tokenizer,
): Observation {
  const shown = thoughts.map(
    ({ role, text }) => `Thinking of ${role}:\n${fenced(text.slice(-longest).toWellFormed(), "")}`,
  );
  return extended(observation, shown.join("\n\n"), tokenizer);
}
