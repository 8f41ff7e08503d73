/** Mistral: `[TOOL_CALLS][{"name": …, "arguments": {…}, "id": …}]`, later `[TOOL_CALLS]name[CALL_ID]id[ARGS]{…}` for each. */
import type { ToolCall } from "../messages.ts";
import {
  callOf,
  jsonEnds,
  malformed,
  parseJson,
  skipSpace,
  textSegment,
  type CallParser,
  type Segment,
} from "./json.ts";

const tag = "[TOOL_CALLS]";

export const mistralTags = [tag, "[CALL_ID]", "[ARGS]"] as const;

export const mistralCalls: CallParser = (text) => {
  const segments: Segment[] = [];
  const endOf = jsonEnds(text);
  let at = 0;
  for (let start = text.indexOf(tag); start >= 0; start = text.indexOf(tag, at)) {
    const { calls, end } = readCalls(text, skipSpace(text, start + tag.length), endOf);
    segments.push(...textSegment(text.slice(at, start)), {
      kind: "calls",
      raw: text.slice(start, end),
      calls,
    });
    at = end;
  }
  return [...segments, ...textSegment(text.slice(at))];
};

interface Read {
  readonly calls: ToolCall[];
  readonly end: number;
}

type EndOf = (start: number) => number | undefined;

function readCalls(text: string, start: number, endOf: EndOf): Read {
  const read = "[{".includes(text[start] ?? " ") ? readList : readNamed;
  return read(text, start, endOf) ?? broken(text, start);
}

/** A list, or a single object. */
function readList(text: string, start: number, endOf: EndOf): Read | undefined {
  const end = endOf(start);
  const value = end === undefined ? undefined : parseJson(text.slice(start, end));
  if (end === undefined || value === undefined) return undefined;
  const listed: unknown[] = Array.isArray(value) ? value : [value];
  const written = text.slice(start, end);
  return { calls: listed.map((one) => callOf(written, one)), end };
}

function readNamed(text: string, start: number, endOf: EndOf): Read | undefined {
  const head = /([^\s[{]+)\s*(?:\[CALL_ID\]\s*([^\s[{]+)\s*)?(?:\[ARGS\]\s*)?(?=\{)/y;
  head.lastIndex = start;
  const [written, name, id] = head.exec(text) ?? [];
  if (written === undefined || name === undefined) return undefined;
  const end = endOf(start + written.length);
  if (end === undefined) return undefined;
  const given = parseJson(text.slice(start + written.length, end));
  const named = { name, arguments: given, ...(id === undefined ? {} : { id }) };
  return {
    calls: [
      given === undefined ? malformed(text.slice(start, end), "is not valid JSON", name) : callOf("", named),
    ],
    end,
  };
}

/** Up to the next call. */
function broken(text: string, start: number): Read {
  const next = text.indexOf(tag, start);
  const end = next < 0 ? text.length : next;
  return { calls: [malformed(text.slice(start, end), "is not valid JSON")], end };
}
