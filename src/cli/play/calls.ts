/** How a person calls a tool: `/search capital of Italy`, or with JSON, `/add {"a": 1, "b": 2}`. */
import { isObject, type JsonObject } from "../../text/files.ts";
import type { Tool } from "../../text/messages.ts";
import type { Reply } from "../../text/replies.ts";
import { jsonOrNull } from "../../json.ts";

/**
 * Returns undefined if the line is not a tool call. A call of an unknown tool is still a call: its error message is the one
 * that models get.
 */
export function callIn(text: string, tools: readonly Tool[]): Reply | undefined {
  const [, name, rest = ""] = /^\/([\w-]+)\s*([^]*)$/.exec(text) ?? [];
  if (name === undefined || tools.length === 0) return undefined;
  const tool = tools.find((one) => one.name === name);
  return { text: "", calls: [{ name, arguments: argumentsIn(rest, tool) }], truncated: false };
}

/** A text is the value of the only required argument. */
function argumentsIn(written: string, tool: Tool | undefined): JsonObject {
  const given = jsonOrNull(written);
  if (isObject(given)) return given;
  const required = tool?.parameters?.["required"];
  const only: unknown = Array.isArray(required) && required.length === 1 ? required[0] : undefined;
  return typeof only === "string" ? { [only]: written.trim() } : {};
}
