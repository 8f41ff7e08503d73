/** Tools of a real MCP server, over both transports. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServiceError } from "../../errors.ts";
import type { RecordedCalls } from "../../calls/recorded.ts";
import { unrecordedCalls } from "../../calls/recorded.ts";
import { toolService } from "../open.ts";
import { toolSettings, type ToolSettings } from "../settings.ts";
import type { ToolAnswer, ToolService } from "../tool.ts";

const file = join(import.meta.dirname, "..", "testing", "mcp-server.ts");
const folder = mkdtempSync(join(tmpdir(), "troupe-mcp-"));
const log = join(folder, "calls.txt");
const never = new AbortController().signal;
let http: ChildProcess;
let url: string;

beforeAll(async () => {
  process.env["TROUPE_TEST_CALLS"] = log;
  process.env["TROUPE_TEST_TOKEN"] = "swordfish";
  http = spawn(process.execPath, [file, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: http.stdout as NodeJS.ReadableStream });
  const [port] = (await once(lines, "line")) as [string];
  url = `http://127.0.0.1:${port}/mcp`;
});

const services: ToolService[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});
afterAll(() => {
  http.kill();
  rmSync(folder, { recursive: true });
});

const command = [process.execPath, file];

function serviceWith(recorded: RecordedCalls = unrecordedCalls()): ToolService {
  const service = toolService({ sandbox: undefined as never, recorded });
  services.push(service);
  return service;
}

function settingsOf(given: object): ToolSettings {
  return toolSettings.parse({ name: "mcp", seconds: 20, ...given });
}

type Ask = (name: string, given?: object) => Promise<ToolAnswer>;

async function asking(given: object, recorded?: RecordedCalls): Promise<Ask> {
  const toolset = await serviceWith(recorded).open([settingsOf(given)]);
  return (name, args = {}) => toolset.answer({ name, arguments: args as Record<string, unknown> }, never);
}

const kinds = {
  program: () => ({ command, variables: ["TROUPE_TEST_CALLS"] }),
  http: () => ({ url, token: "TROUPE_TEST_TOKEN" }),
};

describe.each(Object.entries(kinds))("a server by %s", (_, reached) => {
  it("lists its tools; calls are answered", async () => {
    const { definitions } = await serviceWith().open([settingsOf(reached())]);
    expect(definitions.find(({ name }) => name === "add")).toMatchObject({
      description: "Adds two numbers.",
      parameters: { type: "object", required: ["a", "b"] },
    });
    const ask = await asking(reached());
    expect(await ask("add", { a: 2, b: 3 })).toEqual({ text: "5" });
    expect((await ask("add", { a: "x" })).fault).toMatch(/^the arguments of add are not valid: /);
    expect(await ask("picture")).toEqual({ text: "[image, which is not shown]" });
  });

  it("may fail a call, and drop a tool: that is data", async () => {
    const ask = await asking(reached());
    expect(await ask("fail")).toEqual({ text: "The tool failed: out of paper" });
    await ask("vanish");
    expect((await ask("add", { a: 1, b: 1 })).text).toMatch(/^The tool failed: .*add/);
  });

  it("is asked each question once, also in a resumed run", async () => {
    const recorded = unrecordedCalls();
    writeFileSync(log, "");
    const before = await asking(reached(), recorded);
    const answers = await Promise.all([before("add", { a: 7, b: 1 }), before("add", { a: 7, b: 1 })]);
    expect(answers).toEqual([{ text: "8" }, { text: "8" }]);
    const after = await asking(reached(), recorded);
    expect(await after("add", { a: 7, b: 1 })).toEqual({ text: "8" });
    expect(readFileSync(log, "utf8")).toBe("add 7 1\n");
  });

  it("has long answers cut; one that is too long for memory is a failing service", async () => {
    // Enough for a busy machine to start the server.
    const ask = await asking({ ...reached(), characters: 200, seconds: 60 });
    const { text } = await ask("long", { characters: 1_000_000 });
    expect(text).toHaveLength(200);
    expect(text).toContain("of 1000000 characters are left out here");
    const hurried = await asking({ ...reached(), seconds: 5 });
    await expect(hurried("long", { characters: 12_000_000 })).rejects.toBeInstanceOf(ServiceError);
  });

  it("that does not answer in time is a failing service", async () => {
    // Enough for a busy machine to start the server again.
    const ask = await asking({ ...reached(), seconds: 10 });
    await expect(ask("hang")).rejects.toThrow(/^the MCP server .* failed: .*timed out/);
    expect(await ask("add", { a: 1, b: 2 })).toEqual({ text: "3" });
  });
});

it("an answer that does not end is reported as such", async () => {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
    },
    "tools/list": { tools: [{ name: "endless", inputSchema: { type: "object" } }] },
  };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = request.method === "POST" ? await json(request) : {};
    const { id, method } = asked as { readonly id?: number; readonly method?: string };
    const result = results[method ?? ""];
    if (id !== undefined) response.writeHead(200, { "content-type": "application/json" });
    if (id === undefined) response.writeHead(request.method === "POST" ? 202 : 405).end();
    else if (result === undefined) response.write('{"jsonrpc":');
    else response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  };
  const server = createServer((request, response) => void respond(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const ask = await asking({ url: `http://127.0.0.1:${port}/mcp`, seconds: 2 });
    await expect(ask("endless")).rejects.toThrow(
      /timed out; it began an answer that does not end: 11 bytes so far$/,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe("a server's program", () => {
  const reached = { command, variables: ["TROUPE_TEST_CALLS"] };

  it("that crashes is a failing service, and is started again", async () => {
    const ask = await asking(reached);
    await expect(ask("crash")).rejects.toBeInstanceOf(ServiceError);
    expect(await ask("add", { a: 1, b: 2 })).toEqual({ text: "3" });
  });

  it("may print garbage between its answers", async () => {
    expect(await (await asking(reached))("garbage")).toEqual({ text: "after the garbage" });
  });

  it("sees no secrets, except the variables it is given", async () => {
    const { text } = await (await asking(reached))("environment");
    expect(text.split(" ")).toContain("TROUPE_TEST_CALLS");
    expect(text.split(" ")).not.toContain("TROUPE_TEST_TOKEN");
  });

  it("cannot stop the run with the schema of its results", async () => {
    const script = `
      const schema = { type: "object", properties: { o: { type: "string", pattern: "^(a+)+$" } } };
      const tools = [{ name: "slow", inputSchema: { type: "object" }, outputSchema: schema }];
      const results = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
        "tools/list": { tools },
        "tools/call": { content: [], structuredContent: { o: "a".repeat(50) + "!" } },
      };
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
      });`;
    const ask = await asking({ command: [process.execPath, "-e", script] });
    expect(await ask("slow")).toEqual({ text: JSON.stringify({ o: `${"a".repeat(50)}!` }) });
  });

  it.each([
    [
      "more than 1000 tools",
      "Array.from({ length: 20000 }, (_, i) => tool('t' + i, {}))",
      /more than 1000 tools/,
    ],
    ["long ones", "[tool('long', { a: { title: 'x'.repeat(2 ** 20) } })]", /more than 1048576 characters/],
    [
      "deeply nested ones",
      "[tool('deep', JSON.parse('{\"a\":'.repeat(5000) + '{}' + '}'.repeat(5000)))]",
      /nested too deeply/,
    ],
  ])("that lists %s is rejected with the reason", async (_, tools, reason) => {
    const script = `
      const tool = (name, properties) => ({ name, inputSchema: { type: "object", properties } });
      const results = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
        "tools/list": { tools: ${tools} },
      };
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
      });`;
    const opening = serviceWith().open([settingsOf({ command: [process.execPath, "-e", script] })]);
    await expect(opening).rejects.toThrow(reason);
  });

  it.each([-32603, -32000, -32001, -32602])("may answer with error %d: that is data", async (code) => {
    const script = `
      const results = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
        "tools/list": { tools: [{ name: "broken", inputSchema: { type: "object" } }] },
      };
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const result = results[method];
        const end = result === undefined ? { error: { code: ${code}, message: "out of paper" } } : { result };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...end }));
      });`;
    const ask = await asking({ command: [process.execPath, "-e", script] });
    expect((await ask("broken")).text).toMatch(/^The tool failed: .*out of paper/);
  });

  it.each([
    [
      "is missing",
      ["no-such-program"],
      /no-such-program cannot be started: there is no program `no-such-program` on PATH/,
    ],
    ["ends at once", [process.execPath, "-e", "console.error('no licence'); process.exit(2)"], /no licence/],
    ["is no server", [process.execPath, "-e", "console.log('hello')"], /failed: /],
  ])("that %s is a failing service", async (_, wrong, message) => {
    const opening = serviceWith().open([settingsOf({ command: wrong, seconds: 5 })]);
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toBeInstanceOf(ServiceError);
  });
});

describe("allow", () => {
  it("leaves the other tools out", async () => {
    const { definitions } = await serviceWith().open([settingsOf({ command, allow: ["add"] })]);
    expect(definitions.map(({ name }) => name)).toEqual(["add"]);
    const ask = await asking({ command, allow: ["add"] });
    expect((await ask("fail")).fault).toBe("there is no tool fail; the tools are add");
  });

  it("names tools that the server has", async () => {
    const opening = serviceWith().open([settingsOf({ command, allow: ["ad"] })]);
    await expect(opening).rejects.toThrow(/no tool `ad`.*did you mean `add`/);
  });
});

it("a missing token is an error of the user, and wrong ones are a failing service", async () => {
  const missing = serviceWith().open([settingsOf({ url, token: "TROUPE_TEST_MISSING" })]);
  await expect(missing).rejects.toThrow(/TROUPE_TEST_MISSING, the token of an MCP server, is not set/);
  await expect(serviceWith().open([settingsOf({ url })])).rejects.toBeInstanceOf(ServiceError);
});
