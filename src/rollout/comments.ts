/** What a judge wrote about earlier actions, in the prompt of a later role. Data, like every text between seats. */
import type { RoleName } from "../teams/team.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import type { Observation } from "./episode.ts";
import type { GrowingNode } from "./record.ts";
import { extended } from "./shown.ts";

export interface Comment {
  readonly role: RoleName;
  readonly text: string;
}

/** The explanations of the verdicts on the role's last action and on all since, in the order of the actions. */
export function commentsSince(node: GrowingNode): (role: RoleName) => Comment[] {
  return (role) => {
    const since: GrowingNode[] = [];
    for (let at: GrowingNode | null = node; at !== null; at = at.parent) {
      since.unshift(at);
      if (at.actions.some((action) => action.role === role)) break;
    }
    return since.flatMap(commentsOf);
  };
}

function commentsOf({ actions, rewarded }: GrowingNode): Comment[] {
  return actions.flatMap(({ role }, index) => {
    const verdict = rewarded[index]?.verdict;
    const text = verdict !== undefined && "score" in verdict ? verdict.explanation?.trim() : undefined;
    return text === undefined || text === "" ? [] : [{ role, text }];
  });
}

/** The observation with the comments at its end. */
export function withComments(
  observation: Observation,
  comments: readonly Comment[],
  tokenizer: Tokenizer,
): Observation {
  if (comments.length === 0) return observation;
  const lines = ["Comments on earlier actions:", ...comments.map(({ role, text }) => `${role}: ${text}`)];
  return extended(observation, lines.join("\n"), tokenizer);
}
