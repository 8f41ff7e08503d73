/** JSON in a model's output: where it ends, and the call it represents. */
import { isObject, type JsonObject } from "../files.ts";
import type { ToolCall } from "../messages.ts";

/** The parts of an output. Their concatenated `raw` texts are the output. */
export interface Segment {
  readonly kind: "text" | "thinking" | "calls";
  /** As written, including tags. */
  readonly raw: string;
  /** Of thinking: the text between its tags. */
  readonly inner?: string;
  readonly calls?: readonly ToolCall[];
}

/** Finds the calls in text outside thinking. Other text stays text; nothing throws. */
export type CallParser = (text: string) => Segment[];

export function textSegment(raw: string): Segment[] {
  return raw === "" ? [] : [{ kind: "text", raw }];
}

export interface ThinkingTags {
  readonly open: string;
  readonly close: string;
  /** The prompt ends with the opening tag, so the output starts with thinking. */
  readonly isOpen: boolean;
}

/** Known pairs: Qwen, DeepSeek and others; Mistral. */
export const thinkingTags: readonly (readonly [open: string, close: string])[] = [
  ["<think>", "</think>"],
  ["[THINK]", "[/THINK]"],
];

/** Alternates text and thinking. Unclosed thinking extends to the end. */
export function splitThinking(output: string, { open, close, isOpen }: ThinkingTags): Segment[] {
  const segments: Segment[] = [];
  const begins = output.indexOf(open);
  const ends = output.indexOf(close);
  // A closing tag without an opening one: the prompt opened it.
  const startsInside = isOpen || (ends >= 0 && (begins < 0 || ends < begins));
  let at = 0;
  while (at < output.length) {
    const isInside = at === 0 && startsInside;
    const start = isInside ? 0 : output.indexOf(open, at);
    if (start < 0) break;
    segments.push(...textSegment(output.slice(at, start)));
    const inner = isInside && !output.startsWith(open) ? 0 : start + open.length;
    const end = output.indexOf(close, inner);
    at = end < 0 ? output.length : end + close.length;
    const thought = output.slice(inner, end < 0 ? undefined : end);
    segments.push({ kind: "thinking", raw: output.slice(start, at), inner: thought });
  }
  return [...segments, ...textSegment(output.slice(at))];
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text[at] ?? "")) at++;
  return at;
}

/** No tool needs deeper nesting, which would overflow the stack of recursive code. */
const deepest = 64;

/**
 * The end of the object or list that starts at `start`, by its brackets; undefined if there is none, or it is too deep.
 */
export function jsonEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let isString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (isString && character === "\\") at++;
    else if (character === '"') isString = !isString;
    else if (isString) continue;
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    if (depth === 0) return at + 1;
    if (depth > deepest) return undefined;
  }
  return undefined;
}

/** Most unclosed objects and lists searched for in an output: each costs a pass to its end. */
const mostUnclosed = 16;

/** `jsonEnd` for many starts in a text; undefined after too many without an end, so that the time is linear. */
export function jsonEnds(text: string): (start: number) => number | undefined {
  let unclosed = 0;
  return (start) => {
    const end = unclosed < mostUnclosed ? jsonEnd(text, start) : undefined;
    if (end === undefined) unclosed++;
    return end;
  };
}

/** Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  const start = skipSpace(text, 0);
  if ("[{".includes(text[start] ?? " ") && jsonEnd(text, start) === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Longest quote of a malformed call, in characters. */
const longestQuote = 200;

/** A malformed call, as data. */
export function malformed(written: string, problem: string, name = ""): ToolCall {
  const whole = written.trim();
  const seen = whole.length <= longestQuote ? whole : `${whole.slice(0, longestQuote - 1)}…`;
  return { name, arguments: {}, error: `the call ${seen === "" ? "is empty" : `${problem}: ${seen}`}` };
}

/** `{"name": …, "arguments": {…}}`, or with `parameters`; arguments may be JSON in a string, as in the OpenAI API. */
export function callOf(written: string, value: unknown = parseJson(written)): ToolCall {
  if (value === undefined) return malformed(written, "is not valid JSON");
  if (!isObject(value)) return malformed(written, "is not a JSON object");
  const { name, id } = value;
  if (typeof name !== "string" || name === "") return malformed(written, "has no name");
  const given = argumentsOf(value);
  if (given === undefined) return malformed(written, "has arguments that are not a JSON object", name);
  return { name, arguments: given, ...(typeof id === "string" ? { id } : {}) };
}

/** Undefined if they are something else. */
function argumentsOf(value: JsonObject): JsonObject | undefined {
  const given = value["arguments"] ?? value["parameters"] ?? {};
  const parsed = typeof given === "string" ? parseJson(given) : given;
  return isObject(parsed) ? parsed : undefined;
}
