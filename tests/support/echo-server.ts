/**
 * An MCP server over HTTP that repeats the Authorization header in every kind of field, and in every form of it. Its tool
 * `town` answers in four ways, by the number it gets.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";

/** The header, as it may stand in a text. */
export function formsOf(header: string): string {
  const escaped = header.replaceAll(/./g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const base64 = ["", "x", "xy"].map((before) => Buffer.from(before + header).toString("base64"));
  const quoted = JSON.stringify({ header });
  return [header, quoted, escaped, encodeURIComponent(header), encodeURI(header), ...base64].join(" | ");
}

type Respond = (text: string, number: unknown) => object;

const content = (text: string) => ({ content: [{ type: "text", text }], _meta: { [text]: text } });

const results: Readonly<Record<string, Respond>> = {
  initialize: (text) => ({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: text, version: text },
    instructions: text,
  }),
  "tools/list": (text) => ({
    tools: [
      { name: "town", description: text, inputSchema: schemaWith(text), title: text },
      { name: text, inputSchema: { type: "object" } },
    ],
  }),
  "tools/call": (text, number) => {
    if (number === 0) return { ...content(text), isError: true };
    const resource = { type: "resource", resource: { uri: `x:${text}`, text: `The town of ${text}` } };
    return {
      content: [resource, { type: "resource_link", uri: text, name: text }],
      structuredContent: { [text]: text },
    };
  },
};

function schemaWith(text: string): object {
  const number = { type: "number", description: text, enum: [0, 1, 2, 3, 4], title: text };
  return { type: "object", properties: { number, [text]: {} }, $comment: text };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, method, params } = (await json(request)) as {
    readonly id?: number;
    readonly method: string;
    readonly params?: { readonly arguments?: { readonly number?: unknown } };
  };
  const text = formsOf(request.headers.authorization ?? "");
  const number = params?.arguments?.number;
  if (id === undefined) return void response.writeHead(202).end();
  const notification = {
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "error", data: text },
  };
  const error = { code: -32603, message: text, data: { text } };
  const body = number === 1 ? { error } : { result: results[method]?.(text, number) ?? {} };
  if (number === 3) return void response.writeHead(500, { "x-error": "no" }).end(text);
  if (number === 4) return void response.writeHead(200, { "content-type": "application/json" }).end(text);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of [notification, { jsonrpc: "2.0", id, ...body }])
    response.write(`data: ${JSON.stringify(message)}\n\n`);
  response.end();
}

/** @returns its address */
export async function startEcho(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/mcp`, server };
}
