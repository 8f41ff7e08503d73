/**
 * An MCP server with one tool, `town`. With the habit that is its argument, calls for one of the numbers end strangely.
 * With a second argument it serves HTTP, and prints its port.
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

const [, , habit = "none", http] = process.argv;

function townServer(): McpServer {
  const server = new McpServer({ name: "towns", version: "1" });
  const inputSchema = { number: z.number() };
  server.registerTool("town", { description: "Describes a town.", inputSchema }, async ({ number }) => {
    if (number === 1 && habit === "crashes") process.exit(1);
    if (number === 1 && habit === "hangs") await new Promise<never>(() => {});
    if (number === 1 && habit === "writes nonsense") process.stdout.write("<html>\n");
    return { content: [{ type: "text", text: `The town of ${"very ".repeat(number)}many.` }] };
  });
  const code = errors[habit];
  if (code !== undefined)
    server.server.setRequestHandler(callSchema, ({ params }) => {
      throw new McpError(code, `no town ${JSON.stringify(params.arguments)}: The town of none`);
    });
  return server;
}

const errors: Readonly<Record<string, number>> = {
  "throws errors about parameters": ErrorCode.InvalidParams,
  "throws internal errors": ErrorCode.InternalError,
  "throws errors of its own": -32_000,
};

const callSchema = z.object({
  method: z.literal("tools/call"),
  params: z.looseObject({ arguments: z.looseObject({}).optional() }),
});

if (http === undefined) await townServer().connect(new StdioServerTransport());
else {
  const listening = createServer((request, response) => {
    void (async () => {
      const transport = new StreamableHTTPServerTransport({});
      await townServer().connect(transport);
      await transport.handleRequest(request, response);
    })();
  });
  listening.listen(0, "127.0.0.1", () => console.log((listening.address() as AddressInfo).port));
}
