/**
 * Parses what a model wrote in one action into thinking, text and tool calls. Tokens stay as sampled. Formats differ
 * between models and are recognised by the model's template and vocabulary.
 */
import type { ToolCall } from "./messages.ts";
import { hermesCalls, hermesTags } from "./replies/hermes.ts";
import {
  textSegment,
  splitThinking,
  thinkingTags,
  type CallParser,
  type Segment,
  type ThinkingTags,
} from "./replies/json.ts";
import { llama3Calls, pythonTag } from "./replies/llama3.ts";
import { mistralCalls, mistralTags } from "./replies/mistral.ts";

export type { ToolCall } from "./messages.ts";

export interface Reply {
  /** The output without thinking and calls. */
  readonly text: string;
  readonly thinking?: string;
  /** In the order written, including malformed ones with their `error`. */
  readonly calls?: readonly ToolCall[];
  /** True if the output reached the maximum number of tokens. */
  readonly truncated: boolean;
}

export interface ReplyFormat {
  readonly thinking?: ThinkingTags;
  readonly calls?: "hermes" | "llama3" | "mistral";
}

const parsers: Readonly<Record<NonNullable<ReplyFormat["calls"]>, CallParser>> = {
  hermes: hermesCalls,
  llama3: llama3Calls,
  mistral: mistralCalls,
};

/** Tokens that separate the parts: decoding must show them, special or not. */
export const replyTags: readonly string[] = [
  ...thinkingTags.flat(),
  ...hermesTags,
  pythonTag,
  ...mistralTags,
];

/**
 * The format of a model's replies; empty if everything is text.
 *
 * @param control the texts of its control tokens
 * @param template the source of its chat template
 * @param prompt the end of any of its prompts, which may open thinking
 */
export function replyFormatOf(control: readonly string[], template: string, prompt: string): ReplyFormat {
  const tags = thinkingTags.find((pair) =>
    pair.some((tag) => control.includes(tag) || template.includes(tag)),
  );
  const calls = callFormatIn((tag) => template.includes(tag)) ?? callFormatIn((tag) => control.includes(tag));
  return {
    ...(tags === undefined ? {} : { thinking: thinkingFormat(tags, prompt) }),
    ...(calls === undefined ? {} : { calls }),
  };
}

function thinkingFormat([open, close]: readonly [string, string], prompt: string): ThinkingTags {
  return { open, close, isOpen: prompt.trimEnd().endsWith(open) };
}

/** The template takes precedence over the vocabulary, which may be another model's: Hermes' was Llama 3's. */
function callFormatIn(has: (tag: string) => boolean): ReplyFormat["calls"] {
  if (has(mistralTags[0])) return "mistral";
  if (has(hermesTags[0])) return "hermes";
  return has(pythonTag) || (has("ipython") && has('"parameters"')) ? "llama3" : undefined;
}

/** Never throws. Output without markup is text. */
export function parseReply(output: string, format: ReplyFormat, truncated: boolean): Reply {
  const segments = splitReply(output, format);
  if (segments.every(({ kind }) => kind === "text")) return { text: output, truncated };
  const ofKind = (wanted: Segment["kind"]): Segment[] => segments.filter(({ kind }) => kind === wanted);
  const text = ofKind("text").map(({ raw }) => raw);
  const thoughts = ofKind("thinking").map(({ inner = "" }) => inner.trim());
  const thinking = thoughts.filter((thought) => thought !== "").join("\n");
  const calls = ofKind("calls").flatMap((segment) => segment.calls ?? []);
  return {
    text: text.join("").trim(),
    ...(thinking === "" ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { calls }),
    truncated,
  };
}

/** The parts of an output, in order. A call within thinking is part of the thinking. */
export function splitReply(output: string, { thinking, calls }: ReplyFormat): Segment[] {
  const parts = thinking === undefined ? textSegment(output) : splitThinking(output, thinking);
  if (calls === undefined) return parts;
  return parts.flatMap((part) => (part.kind === "text" ? parsers[calls](part.raw) : [part]));
}
