/**
 * Llama 3.1 and later: the whole output is `{"name": …, "parameters": {…}}`, several separated by semicolons, or
 * `<|python_tag|>` is followed by such JSON, `tool.call(key="value")` or Python.
 */
import { isObject } from "../files.ts";
import type { ToolCall } from "../messages.ts";
import { callOf, jsonEnd, parseJson, skipSpace, textSegment, type CallParser, type Segment } from "./json.ts";

export const pythonTag = "<|python_tag|>";

export const llama3Calls: CallParser = (text) => {
  const [before = "", ...tagged] = text.split(pythonTag);
  const bare = tagged.length === 0 ? bareCalls(text) : undefined;
  if (bare !== undefined) return [{ kind: "calls", raw: text, calls: bare }];
  const calls = tagged.map((after): Segment => {
    return { kind: "calls", raw: pythonTag + after, calls: taggedCalls(after.trim()) };
  });
  return [...textSegment(before), ...calls];
};

/** JSON without calls is an answer, and stays text. */
function bareCalls(text: string): ToolCall[] | undefined {
  const found = objectsIn(text);
  return found?.every(isOfCall) === true ? found.map((written) => callOf(written)) : undefined;
}

function isOfCall(written: string): boolean {
  const value = parseJson(written);
  return isObject(value) && "name" in value && ("parameters" in value || "arguments" in value);
}

function taggedCalls(written: string): ToolCall[] {
  if (written === "" || written.startsWith("{"))
    return (objectsIn(written) ?? [written]).map((one) => callOf(one));
  return [builtInCall(written) ?? { name: "python", arguments: { code: written } }];
}

/** The objects in the text; undefined if there is anything else. */
function objectsIn(text: string): string[] | undefined {
  const found: string[] = [];
  let at = skipSpace(text, 0);
  while (text[at] === "{") {
    const end = jsonEnd(text, at);
    if (end === undefined) return undefined;
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ";") at = skipSpace(text, at + 1);
  }
  return found.length > 0 && at === text.length ? found : undefined;
}

const literal = String.raw`"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|True|False|None`;

/** `brave_search.call(query="…")`: arguments are strings, numbers, True, False or None. */
function builtInCall(written: string): ToolCall | undefined {
  const [, name, listed] = /^([A-Za-z_]\w*)\.call\((.*)\)$/s.exec(written) ?? [];
  if (name === undefined || listed === undefined) return undefined;
  const argument = new RegExp(String.raw`\s*([A-Za-z_]\w*)\s*=\s*(${literal})\s*(?:,|$)`, "gy");
  const given: [string, unknown][] = [];
  let end = 0;
  for (const match of listed.matchAll(argument)) {
    given.push([match[1] ?? "", valueOf(match[2] ?? "")]);
    end = match.index + match[0].length;
  }
  return end === listed.length ? { name, arguments: Object.fromEntries(given) } : undefined;
}

function valueOf(written: string): unknown {
  const json = { True: "true", False: "false", None: "null" }[written] ?? written;
  return parseJson(json) ?? (json === "null" ? null : written);
}
