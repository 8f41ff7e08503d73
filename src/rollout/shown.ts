/** Adds text of the team to what an environment shows a role. */
import { unknownWords, type Message, type Tokenizer } from "../text/tokenizer.ts";
import type { Observation } from "./episode.ts";

/**
 * The observation with the text at its end. Words that the tokenizer cannot write are left out: who wrote them knows
 * nothing of a small vocabulary.
 */
export function extended(observation: Observation, text: string, tokenizer: Tokenizer): Observation {
  const added = writable(text, tokenizer);
  if (added === "") return observation;
  if (typeof observation === "string") return `${observation}\n\n${added}`;
  const last = observation.at(-1);
  // Many templates reject two messages of the user in a row.
  if (last?.role !== "user") return [...observation, { role: "user", content: added }];
  const longer: Message = { ...last, content: `${last.content}\n\n${added}` };
  return [...observation.slice(0, -1), longer];
}

function writable(text: string, tokenizer: Tokenizer): string {
  const unknown = new Set(unknownWords(tokenizer, [...new Set(text.split(/\s+/))]));
  if (unknown.size === 0) return text;
  const known = (line: string) => line.split(/\s+/).filter((word) => word !== "" && !unknown.has(word));
  const lines = text.split("\n").map((line) => known(line).join(" "));
  return lines.filter((line) => line !== "").join("\n");
}
