/** What a judge wrote about earlier actions, in the prompt of a later role. Data, like every text between seats. */
import type { RoleName } from "../teams/team.ts";
import type { Message, Tokenizer } from "../text/tokenizer.ts";
import { unknownWords } from "../text/unknown-words.ts";
import type { Observation } from "./episode.ts";
import type { GrowingNode } from "./record.ts";

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

/**
 * The observation with the comments at its end. Words that the tokenizer cannot write are left out: a judge knows nothing
 * of a small vocabulary.
 */
export function withComments(
  observation: Observation,
  comments: readonly Comment[],
  tokenizer: Tokenizer,
): Observation {
  if (comments.length === 0) return observation;
  const lines = ["Comments on earlier actions:", ...comments.map(({ role, text }) => `${role}: ${text}`)];
  const added = writable(lines.join("\n"), tokenizer);
  if (added === "") return observation;
  if (typeof observation === "string") return `${observation}\n\n${added}`;
  const last = observation.at(-1);
  // Many templates reject two messages of the user in a row.
  if (last?.role !== "user") return [...observation, { role: "user", content: added }];
  const extended: Message = { ...last, content: `${last.content}\n\n${added}` };
  return [...observation.slice(0, -1), extended];
}

function writable(text: string, tokenizer: Tokenizer): string {
  const unknown = new Set(unknownWords(tokenizer, [...new Set(text.split(/\s+/))]));
  if (unknown.size === 0) return text;
  const known = (line: string) => line.split(/\s+/).filter((word) => word !== "" && !unknown.has(word));
  const lines = text.split("\n").map((line) => known(line).join(" "));
  return lines.filter((line) => line !== "").join("\n");
}
