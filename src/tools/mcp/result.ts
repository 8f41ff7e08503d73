/** The text of what an MCP server answered to a call. */
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";

/** @throws ZodError if it is not a result of a call */
export function textOfResult(result: unknown): string {
  const { content, structuredContent, isError } = CallToolResultSchema.parse(result);
  const parts = content.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "resource" && "text" in part.resource) return part.resource.text;
    if (part.type === "resource_link") return part.uri;
    return `[${part.type}, which is not shown]`;
  });
  if (parts.length === 0 && structuredContent !== undefined) parts.push(JSON.stringify(structuredContent));
  const text = parts.join("\n");
  if (isError === true) return `The tool failed: ${text}`;
  return text === "" ? "The tool answered nothing." : text;
}
