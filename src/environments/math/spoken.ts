/** What a reply says aloud, and what its author only thought. */
import type { Reply } from "../environment.ts";
import { splitThinking, thinkingTags } from "../../text/replies/thinking.ts";

export interface Spoken {
  readonly text: string;
  /** Empty: none. */
  readonly thinking: string;
}

/**
 * Tags that the model's reply format does not know still enclose thinking: programs in it must not run. Thinking that is
 * never closed extends to the end.
 */
export function spokenOf({ text, thinking = "" }: Reply): Spoken {
  const tags = thinkingTags.find((pair) => pair.some((tag) => text.includes(tag)));
  if (tags === undefined) return { text, thinking };
  const [open, close] = tags;
  const segments = splitThinking(text, { open, close, isOpen: false });
  const aloud = segments.filter(({ kind }) => kind === "text").map(({ raw }) => raw);
  const thought = segments.flatMap(({ kind, inner = "" }) => (kind === "thinking" ? [inner.trim()] : []));
  return {
    text: aloud.join("").trim(),
    thinking: [thinking, ...thought].filter((part) => part !== "").join("\n"),
  };
}
