/**
 * A real MCP server for tests, on standard input and output, or with the argument `http` on a port that it prints. Its
 * tools add, fail, hang, crash, print garbage, answer too much, and tell their environment; `vanish` removes `add`.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { appendFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Each call is a line of the file that `TROUPE_TEST_CALLS` names. */
function log(line: string): void {
  const file = process.env["TROUPE_TEST_CALLS"];
  if (file !== undefined) appendFileSync(file, `${line}\n`);
}

function serverWithTools(): McpServer {
  const server = new McpServer({ name: "test", version: "1" });
  const add = server.registerTool(
    "add",
    { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => {
      log(`add ${a} ${b}`);
      return said(String(a + b));
    },
  );
  server.registerTool("fail", {}, () => {
    throw new Error("out of paper");
  });
  server.registerTool("hang", {}, () => new Promise<never>(() => {}));
  server.registerTool("crash", {}, () => {
    log("crash");
    process.exit(1);
  });
  server.registerTool("garbage", {}, () => {
    process.stdout.write("<html>not JSON</html>\n{}\n");
    return said("after the garbage");
  });
  server.registerTool("long", { inputSchema: { characters: z.number() } }, ({ characters }) =>
    said("x".repeat(characters)),
  );
  server.registerTool("environment", {}, () => said(Object.keys(process.env).toSorted().join(" ")));
  server.registerTool("picture", {}, () => ({
    content: [{ type: "image" as const, data: "AAAA", mimeType: "image/png" }],
  }));
  server.registerTool("vanish", {}, () => {
    add.remove();
    return said("gone");
  });
  return server;
}

const transports = new Map<string, StreamableHTTPServerTransport>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = process.env["TROUPE_TEST_TOKEN"];
  if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
    response.writeHead(401).end();
    return;
  }
  const known = transports.get(String(request.headers["mcp-session-id"]));
  const transport = known ?? (await newSession());
  await transport.handleRequest(request, response);
}

async function newSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await serverWithTools().connect(transport);
  return transport;
}

function serveHttp(): void {
  const http = createServer((request, response) => void answer(request, response));
  http.listen(0, "127.0.0.1", () => console.log((http.address() as AddressInfo).port));
}

if (process.argv[2] === "http") serveHttp();
else await serverWithTools().connect(new StdioServerTransport());
