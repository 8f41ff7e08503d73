/** Requests that no client should send: each is the program's to correct, and nothing of it disturbs a session. */
/* oxlint-disable vitest/no-conditional-expect, vitest/no-standalone-expect, no-unmodified-loop-condition */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SampleRequest } from "../engines/engine.ts";
import { rootKey } from "../random.ts";
import { Gateway, type OpenSession } from "./gateway.ts";
import { roleNamed, sampled } from "./testing/sampled.ts";

const gateway = new Gateway();
let opened: OpenSession;
let port: number;

beforeAll(async () => {
  const setting = {
    roles: [roleNamed("solo", 20_000)],
    sampling: { temperature: 1 },
    sample: async (request: SampleRequest) => sampled(request, "fine"),
    turns: 1e9,
    key: rootKey(1),
  };
  opened = await gateway.open(setting);
  port = Number(new URL(opened.address.url).port);
});
afterAll(async () => {
  // Whatever was sent, the session is as good as before.
  expect(opened.session.failing.aborted).toBe(false);
  expect((await send("chat/completions", JSON.stringify(usual["chat/completions"]))).status).toBe(200);
  expect(opened.session.end().length).toBeGreaterThan(0);
  await gateway.close();
});

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

/** A request that uses all that each protocol has. */
const usual: Readonly<Record<string, object>> = {
  "chat/completions": {
    model: "m",
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content: [{ type: "text", text: "which?" }] },
      {
        role: "assistant",
        content: null,
        reasoning_content: "hm",
        tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: '{"city":"Rome"}' } }],
      },
      { role: "tool", tool_call_id: "a", content: "sun" },
    ],
    tools: [{ type: "function", function: { name: "look", description: "d", parameters } }],
    tool_choice: { type: "function", function: { name: "look" } },
    max_tokens: 20,
    stop: ["x"],
    n: 2,
    stream: false,
    stream_options: { include_usage: true },
    response_format: { type: "json_schema", json_schema: { name: "j", schema: parameters } },
  },
  responses: {
    model: "m",
    instructions: "be brief",
    input: [
      { role: "user", content: [{ type: "input_text", text: "which?" }] },
      { type: "reasoning", summary: [] },
      { type: "function_call", call_id: "a", name: "look", arguments: '{"city":"Rome"}' },
      { type: "function_call_output", call_id: "a", output: "sun" },
    ],
    tools: [{ type: "function", name: "look", description: "d", parameters }],
    tool_choice: { type: "function", name: "look" },
    max_output_tokens: 20,
    text: { format: { type: "json_schema", name: "j", schema: parameters } },
  },
  messages: {
    model: "m",
    system: [{ type: "text", text: "be brief" }],
    messages: [
      { role: "user", content: "which?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "" },
          { type: "tool_use", id: "a", name: "look", input: { city: "Rome" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sun" }] },
    ],
    tools: [{ name: "look", description: "d", input_schema: parameters }],
    tool_choice: { type: "tool", name: "look" },
    max_tokens: 20,
    stop_sequences: ["x"],
    output_config: { format: { type: "json_schema", schema: parameters } },
  },
};

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

async function send(
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const response = await fetch(`${opened.variables["OPENAI_BASE_URL"]}/${path}`, {
    method: "POST",
    body: body as Uint8Array<ArrayBuffer>,
    headers,
  });
  return { status: response.status, body: await response.json() };
}

/** An error as the clients of the protocol read it. */
const errorOf = (path: string): unknown => {
  const message = expect.stringMatching(/./);
  return path === "messages"
    ? { type: "error", error: { type: expect.stringMatching(/_error$|^request_too_large$/), message } }
    : { error: { message, type: expect.any(String), param: null, code: expect.any(String) } };
};

type Path = readonly (string | number)[];

/** The place of every value inside. */
function placesIn(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...at, key]))];
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const copy: unknown = structuredClone(value);
  const inside = copy as Record<string | number, unknown>;
  if (by === gone && rest.length === 0) delete inside[key];
  else inside[key] = replaced(inside[key], rest, by);
  return copy;
}

const gone = Symbol("gone");
const deep = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;

const plain = [null, true, 0, -1, 0.5, 1e308, -1e308, 2 ** 53, 1e21, "", "\ud800", "\0", {}, []];
const objects: readonly object[] = [
  { __proto__: null, type: "function" },
  { toString: 1 },
  { constructor: { prototype: [] } },
];
const schemas: readonly object[] = [
  { $ref: "#" },
  { type: "string", pattern: "(a+)+$" },
  { type: "nonsense" },
];
const nonsense = fc.oneof(
  fc.constant(gone),
  fc.constantFrom<unknown>(...plain, "x".repeat(50_000)),
  fc.constantFrom<unknown>(...objects),
  fc.constantFrom<unknown>(...schemas, { allOf: [{ $ref: "#/x" }] }),
  fc.constant("{" + '"a":{'.repeat(20)),
  fc.integer({ min: 400, max: 3000 }).map(deep),
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
);

describe.each(Object.entries(usual))("%s", (path, body) => {
  it("120 requests with nonsense anywhere are answered with 200 or an error of the protocol", async () => {
    const places = placesIn(body);
    const changes = fc.array(fc.tuple(fc.constantFrom(...places), nonsense), { minLength: 1, maxLength: 3 });
    const statuses = new Map<number, number>();
    const check = async (made: [Path, unknown][]): Promise<void> => {
      const changed = made.reduce<unknown>((whole, [at, by]) => {
        try {
          return replaced(whole, at, by);
        } catch {
          return whole; // the place is gone
        }
      }, body);
      const text = typeof changed === "symbol" ? "" : JSON.stringify(changed);
      const reply = await send(path, text ?? "");
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      if (reply.status !== 200) expect(reply).toEqual({ status: 400, body: errorOf(path) });
    };
    await fc.assert(fc.asyncProperty(changes, check), { numRuns: 120, seed: 7 });
    expect(opened.session.failing.aborted).toBe(false);
    expect(statuses.get(400)).toBeGreaterThan(50);
  });

  const text = JSON.stringify(body);
  const bytes = Buffer.from(text);
  const invalid = Buffer.from(bytes);
  invalid[bytes.indexOf("which?")] = 0xff;
  const encoded = (encoding: BufferEncoding): Buffer => Buffer.from(text, encoding);

  it.each<[string, string | Uint8Array]>([
    ["nothing", ""],
    ["white space", "  \n"],
    ["half of it", text.slice(0, text.length / 2)],
    ["all but the last character", text.slice(0, -1)],
    ["two of them", text + text],
    ["something behind it", `${text}x`],
    ["single quotes", text.replaceAll('"', "'")],
    ["NaN", text.replace(/"m"/, "NaN")],
    ["bytes that are no UTF-8", invalid],
    ["UTF-16", encoded("utf16le")],
    ["zeros", new Uint8Array(1000)],
    ["10,000 lists in each other", "[".repeat(10_000) + "]".repeat(10_000)],
    ["a million lists that do not end", "[".repeat(1_000_000)],
  ])("%s", async (_, sent) => {
    expect(await send(path, sent)).toEqual({ status: 400, body: errorOf(path) });
  });

  it("more than 32 MiB", async () => {
    expect(await send(path, Buffer.alloc(2 ** 25 + 1, 32))).toEqual({ status: 413, body: errorOf(path) });
  });

  it("twice the same key: the last one counts, as in JSON", async () => {
    const twice = text.replace("{", '{"model":"other",');
    expect((await send(path, twice)).status).toBe(200);
  });

  it("a wrong type of content is read all the same; an encoding that nobody decodes is not", async () => {
    expect((await send(path, text, { "content-type": "text/plain" })).status).toBe(200);
    const gzip = { "content-encoding": "gzip" };
    expect(await send(path, text, gzip)).toEqual({ status: 415, body: errorOf(path) });
  });

  it.each(["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s", async (method) => {
    const url = `${opened.variables["OPENAI_BASE_URL"]}/${path}`;
    const response = await fetch(url, { method });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 405,
      body: errorOf(path),
    });
  });
});

it.each(["", "/", "/v1", "/v1/", "/v1/chat", "/v1/completions", "/v1/__proto__", "/%00", "/%"])(
  "nothing is at %j",
  async (path) => {
    const response = await fetch(`${opened.address.url}${path}`, { method: "POST", body: "{}" });
    expect([response.status, await response.json()]).toEqual([404, errorOf("")]);
  },
);

/** What the server says to these bytes until it ends the connection, or `until` is in it. */
async function raw(
  sent: string,
  { until, ends = false }: { until?: string; ends?: boolean } = {},
): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  let heard = "";
  socket.on("data", (part: Buffer) => (heard += part.toString()));
  socket.on("error", () => {});
  socket.write(sent);
  if (ends) socket.end();
  const closed = once(socket, "close");
  while (until !== undefined && !heard.includes(until)) await Promise.race([closed, delay(5)]);
  if (until === undefined) await closed;
  socket.destroy();
  return heard;
}

const address = () => `/e/${opened.session.id}/v1/chat/completions`;
const body = JSON.stringify({ messages: [{ role: "user", content: "hello" }] });
const request = (headers: string, text = body, version = "1.1"): string =>
  `POST ${address()} HTTP/${version}\r\nhost: x\r\n${headers}\r\n\r\n${text}`;
const length = `content-length: ${body.length}`;

describe("bytes that are no proper request", () => {
  it.each<[string, () => string]>([
    ["no HTTP", () => "hello\r\n\r\n"],
    ["an unknown method", () => request(length).replace("POST", "BREW")],
    ["a length that is none", () => request("content-length: many")],
    ["two lengths", () => request(`${length}\r\ncontent-length: 3`)],
    ["a length and chunks", () => request(`${length}\r\ntransfer-encoding: chunked`)],
    ["chunks that are none", () => request("transfer-encoding: chunked", "zz\r\n")],
    ["100 KB of headers", () => request(`${length}\r\nx: ${"x".repeat(100_000)}`)],
    ["a new line in a header", () => request(`${length}\r\nx: a\nb`)],
    ["version 9", () => request(length, body, "9.0")],
  ])("%s", async (_, sent) => {
    const heard = await raw(sent(), { ends: true });
    expect(heard).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(heard.split("\r\n\r\n")[1]).toMatch(/^\{"error":\{"message":"./);
  });

  it("a body that breaks off, or comes byte by byte, disturbs nobody", async () => {
    expect(await raw(request(`content-length: ${body.length + 1}`), { ends: true })).not.toContain(" 200 ");
    const slow = connect(port, "127.0.0.1");
    await once(slow, "connect");
    slow.write(request(length, ""));
    for (const one of body.slice(0, 20)) slow.write(one);
    expect((await send("chat/completions", body)).status).toBe(200);
    slow.destroy();
  });

  it("a length shorter than the body: the rest is another request, and none", async () => {
    const heard = await raw(request(`content-length: ${body.length - 1}`));
    expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    expect(heard).not.toContain(" 200 ");
  });

  it("several requests at once on one connection are answered in their order", async () => {
    const bad = request("content-length: 1", "{");
    const heard = await raw(request(length) + bad + request(`${length}\r\nconnection: close`));
    expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400", "HTTP/1.1 200"]);
  });

  it("HTTP/1.0 gets an answer that ends with the connection", async () => {
    const heard = await raw(request(length, body, "1.0"));
    expect(heard).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(heard).toContain('"content":"fine"');
  });

  it("200 connections that begin and stay", async () => {
    const sockets = Array.from({ length: 200 }, () => connect(port, "127.0.0.1"));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    for (const socket of sockets) socket.write(request(length, body.slice(0, 3)));
    expect((await send("chat/completions", body)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});
