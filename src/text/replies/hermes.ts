/** `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, of Hermes, Qwen and others. */
import type { ToolCall } from "../messages.ts";
import {
  callOf,
  jsonEnds,
  malformed,
  skipSpace,
  textSegment,
  type CallParser,
  type Segment,
} from "./json.ts";

const open = "<tool_call>";
const close = "</tool_call>";

export const hermesTags = [open, close] as const;

export const hermesCalls: CallParser = (text) => {
  const segments: Segment[] = [];
  const endOf = jsonEnds(text);
  let at = 0;
  for (let start = text.indexOf(open); start >= 0; start = text.indexOf(open, at)) {
    const { calls, end } = readBlock(text, start + open.length, endOf);
    segments.push(...textSegment(text.slice(at, start)), {
      kind: "calls",
      raw: text.slice(start, end),
      calls,
    });
    at = end;
  }
  return [...segments, ...textSegment(text.slice(at))];
};

/** The closing tag may be missing; a tag within a JSON string is part of the string. */
function readBlock(
  text: string,
  start: number,
  endOf: (start: number) => number | undefined,
): { calls: ToolCall[]; end: number } {
  const calls: ToolCall[] = [];
  let at = skipSpace(text, start);
  while (text[at] === "{") {
    const end = endOf(at);
    if (end === undefined) break;
    calls.push(callOf(text.slice(at, end)));
    at = skipSpace(text, end);
  }
  if (calls.length > 0 && text[at] !== "{") {
    return { calls, end: text.startsWith(close, at) ? at + close.length : at };
  }
  const next = text.indexOf(open, at);
  const written = text.slice(at, next < 0 ? undefined : next);
  const closing = written.indexOf(close);
  if (closing < 0) calls.push(malformed(written, "does not end"));
  else calls.push(malformed(written.slice(0, closing), "is not valid JSON"));
  return { calls, end: at + (closing < 0 ? written.length : closing + close.length) };
}
