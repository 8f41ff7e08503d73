/** Trained roles behind HTTP: what a request may ask for, whom the server answers, and what it does under pressure. */
import { request as httpRequest } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ServerEvent } from "../calls/activity.ts";
import type { SampleRequest } from "../engines/engine.ts";
import { ServiceError } from "../errors.ts";
import { atEndOfFile } from "../test-end.ts";
import { roleServerLimits, serveRoles, type RoleServer, type RoleServerOptions } from "./server.ts";
import { roleNamed, sampled, tokenizer } from "./testing/sampled.ts";

interface Served {
  readonly server: RoleServer;
  readonly requests: readonly SampleRequest[];
  readonly events: readonly ServerEvent[];
}

/** Every reply is what the request's seed says, unless the script says otherwise. */
async function serve(
  changes: Partial<RoleServerOptions> & { script?: (prompt: string, seed: number) => string } = {},
): Promise<Served> {
  const { script = (_, seed) => `n${seed % 1000}`, ...rest } = changes;
  const requests: SampleRequest[] = [];
  const events: ServerEvent[] = [];
  const server = await serveRoles({
    roles: [{ ...roleNamed("writer"), system: "You write." }, roleNamed("critic")],
    sampling: { temperature: 0, topP: 0.9 },
    sample: async (request) => {
      requests.push(request);
      return sampled(request, script(tokenizer.decode(request.prompt), request.seed));
    },
    capabilities: { topK: true, stopStrings: true },
    host: "127.0.0.1",
    port: 0,
    keys: [],
    limits: roleServerLimits,
    log: (event) => events.push(event),
    ...rest,
  });
  atEndOfFile(() => server.close());
  return { server, requests, events };
}

const user = { role: "user", content: "hello" };
const hello = { model: "writer", messages: [user] };

type Body = Readonly<Record<string, unknown>>;

function post(
  { server }: Served,
  body: unknown,
  { path = "chat/completions", ...init }: RequestInit & { readonly path?: string } = {},
): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${server.url}/v1/${path}`, { method: "POST", body: text, ...init });
}

interface Completion {
  readonly model: string;
  readonly choices: readonly {
    readonly message: { readonly content: string };
    readonly finish_reason: string;
    readonly logprobs: { readonly content: readonly { token: string; logprob: number }[] } | null;
  }[];
  readonly usage: Readonly<Record<string, number>>;
  readonly warnings?: readonly string[];
}

async function complete(served: Served, body: Body, path = "chat/completions"): Promise<Completion> {
  const response = await post(served, body, { path });
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

async function problem(response: Promise<Response>): Promise<readonly [number, string]> {
  const received = await response;
  const { error } = (await received.json()) as { error: { code: string; message: string } };
  return [received.status, `${error.code}: ${error.message}`];
}

/** A promise of when the engine was asked, and what lets it answer. */
function slowEngine() {
  const [asked, free] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()];
  const sample: RoleServerOptions["sample"] = async (request, signal) => {
    asked.resolve(signal);
    await free.promise;
    return sampled(request, "late");
  };
  return { asked: asked.promise, free: () => free.resolve(), sample };
}

describe("sampling", () => {
  it("is what the request asks for", async () => {
    const served = await serve();
    const body = { ...hello, temperature: 0.7, top_p: 0.5, top_k: 4, max_tokens: 9, stop: ["END"], n: 3 };
    const { choices, model, warnings } = await complete(served, body);
    expect([choices.length, model, warnings]).toEqual([3, "writer", undefined]);
    const options = { temperature: 0.7, topP: 0.5, topK: 4, maxTokens: 9, stopStrings: ["END"] };
    expect(served.requests[0]).toMatchObject({ policy: "shared", ...options, count: 3 });
  });

  it("is that of the recipe's evaluations otherwise, in every protocol", async () => {
    const served = await serve();
    await complete(served, { ...hello, temperature: null, seed: null });
    await complete(served, { model: "writer", input: "hello" }, "responses");
    await complete(served, { ...hello, max_tokens: 5000 }, "messages");
    for (const request of served.requests) expect(request).toMatchObject({ temperature: 0, topP: 0.9 });
    const [first, second, third] = served.requests;
    expect([first?.maxTokens, second?.maxTokens]).toEqual([300, 300]);
    // What the model has room for.
    expect(third?.maxTokens).toBe(1200 - (third?.prompt.length ?? 0));
    // Without a seed each call is another sample.
    expect(new Set(served.requests.map(({ seed }) => seed)).size).toBe(3);
    const asked = { model: "critic", temperature: 1.5, top_p: 0 };
    await complete(served, { ...asked, input: "hello" }, "responses");
    await complete(served, { ...asked, messages: [user], max_tokens: 4, top_k: 2 }, "messages");
    expect(served.requests.slice(3)).toMatchObject([
      // The engine has no 0: only the most probable token is left.
      { temperature: 1.5, topP: 1e-6 },
      { temperature: 1.5, topP: 1e-6, topK: 2, maxTokens: 4 },
    ]);
  });

  it("with a seed is repeated, whatever the seed is", async () => {
    const served = await serve();
    const said = async (seed: number) =>
      (await complete(served, { ...hello, seed })).choices[0]?.message.content;
    const seeds = [5, 6, -5, 2 ** 40];
    const first = await Promise.all(seeds.map(said));
    expect(await Promise.all(seeds.toReversed().map(said))).toEqual(first.toReversed());
    expect(new Set(served.requests.map(({ seed }) => seed)).size).toBe(4);
    for (const { seed } of served.requests) expect(Number.isSafeInteger(seed) && seed >= 0).toBe(true);
  });

  it("ends with what stops it, also where the engine cannot stop there", async () => {
    const served = await serve({
      script: () => "one STOP two",
      capabilities: { topK: false, stopStrings: false },
    });
    const { choices } = await complete(served, { ...hello, stop: "STOP" });
    expect(choices[0]?.message.content).toBe("one ");
    expect(served.requests[0]?.stopStrings).toEqual([]);
    expect(await problem(post(served, { ...hello, top_k: 3 }))).toEqual([
      400,
      "invalid_request: top_k: the engine of this server has no top-k",
    ]);
  });

  it("names what has no effect, unless it asks for nothing", async () => {
    const served = await serve();
    const nothing = { frequency_penalty: 0, min_p: 0, logprobs: false, top_logprobs: 0, top_k: -1 };
    expect((await complete(served, { ...hello, ...nothing })).warnings).toBeUndefined();
    const { warnings } = await complete(served, { ...hello, presence_penalty: 0.5, logit_bias: { 5: 1 } });
    expect(warnings).toEqual([
      "`logit_bias` has no effect: it is not supported",
      "`presence_penalty` has no effect: it is not supported",
    ]);
  });

  it("gives log-probabilities of the text's tokens, if they are asked for", async () => {
    const served = await serve({ script: () => "grün, 你好" });
    const { choices } = await complete(served, { ...hello, logprobs: true });
    const content = choices[0]?.logprobs?.content ?? [];
    expect(content.map(({ logprob }) => logprob)).toEqual(content.map((_, index) => -1 - index));
    const bytes = (content as unknown as { bytes: number[] }[]).flatMap((one) => one.bytes);
    expect(Buffer.from(bytes).toString("utf8")).toBe(choices[0]?.message.content);
    const text = await (await post(served, { ...hello, logprobs: true, stream: true })).text();
    expect(text).toContain('"logprob":-1,');
    expect((await complete(served, hello)).choices[0]?.logprobs).toBeNull();
  });
});

/** The prompt that the engine gets. */
async function promptOf(body: Body, path?: string): Promise<string> {
  const served = await serve();
  await complete(served, body, path);
  return tokenizer.decode(served.requests[0]?.prompt ?? []);
}

describe("the system message", () => {
  it("is the role's, unless the request has one", async () => {
    expect(await promptOf(hello)).toContain("You write.");
    const own = { role: "system", content: "You sing." };
    const sung = await promptOf({ ...hello, messages: [own, user] });
    expect([sung.includes("You sing."), sung.includes("You write.")]).toEqual([true, false]);
    expect(await promptOf({ ...hello, model: "critic" })).not.toContain("You write.");
    expect(await promptOf({ model: "writer", input: "hello" }, "responses")).toContain("You write.");
    const instructed = { model: "writer", input: "hello", instructions: "You sing." };
    expect(await promptOf(instructed, "responses")).not.toContain("You write.");
    expect(await promptOf({ ...hello, max_tokens: 4 }, "messages")).toContain("You write.");
    expect(await promptOf({ ...hello, max_tokens: 4, system: "You sing." }, "messages")).toContain(
      "You sing.",
    );
  });

  it("stays the role's if the reply must be JSON", async () => {
    const prompt = await promptOf({ ...hello, response_format: { type: "json_object" } });
    expect(prompt).toContain("You write.\n\nAnswer with nothing but JSON");
  });
});

const call = (city: string): string =>
  `<tool_call>\n{"name": "look", "arguments": {"city": "${city}"}}\n</tool_call>`;

/** Looks two cities up at once, then says what it found. */
const traveller = (prompt: string): string =>
  prompt.includes("rain in Oslo") ? "Oslo is wet." : `${call("Rome")}\n${call("Oslo")}`;

const look = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `${city === "Oslo" ? "rain" : "sun"} in ${city}`,
});

// In the other protocols: below, and clients.test.ts.
it("tools of the request are called, whole and as a stream", async () => {
  const served = await serve({ script: traveller });
  const model = createOpenAI({ baseURL: `${served.server.url}/v1`, apiKey: "x" }).chat("writer");
  const asked = { model, prompt: "which is wet?", tools: { look }, stopWhen: stepCountIs(4) };
  const { text, steps } = await generateText(asked);
  expect(text).toBe("Oslo is wet.");
  expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual([{ city: "Rome" }, { city: "Oslo" }]);
  const streamed = streamText(asked);
  await streamed.consumeStream();
  expect(await streamed.text).toBe("Oslo is wet.");
  expect(served.requests).toHaveLength(4);
});

it.each([
  ["responses", (baseURL: string) => createOpenAI({ baseURL, apiKey: "x" }).responses("writer")],
  ["messages", (baseURL: string) => createAnthropic({ baseURL, apiKey: "x" })("writer")],
])("earlier calls are in the next prompt, also of %s", async (_, client) => {
  const served = await serve({ script: traveller });
  const model = client(`${served.server.url}/v1`);
  const asked = { model, prompt: "which is wet?", tools: { look }, stopWhen: stepCountIs(4) };
  expect((await generateText(asked)).text).toBe("Oslo is wet.");
  const prompts = served.requests.map(({ prompt }) => tokenizer.decode(prompt));
  const both = [call("Rome"), call("Oslo")];
  expect(prompts.map((prompt) => both.every((one) => prompt.includes(one)))).toEqual([false, true]);
});

describe("who is answered", () => {
  it("whoever names a model that there is", async () => {
    const served = await serve();
    expect(await problem(post(served, { ...hello, model: "critik" }))).toEqual([
      404,
      "model_not_found: There is no model `critik`; the models are writer, critic.",
    ]);
    expect(await problem(post(served, { messages: [user] }))).toEqual([
      400,
      "no_model: The request names no model; the models are writer, critic.",
    ]);
    const anthropic = await post(served, { ...hello, model: "x", max_tokens: 1 }, { path: "messages" });
    expect(await anthropic.json()).toMatchObject({ type: "error", error: { type: "not_found_error" } });
    const models = async (path: string) => (await fetch(`${served.server.url}/v1/${path}`)).json();
    const writer = { id: "writer", object: "model", owned_by: "troupe", max_model_len: 1200 };
    const data = [writer, { id: "critic", object: "model" }];
    expect(await models("models")).toMatchObject({ object: "list", data });
    expect(await models("models/critic")).toMatchObject({ id: "critic", created: expect.any(Number) });
    expect(await models("models/nobody")).toMatchObject({ error: { code: "model_not_found" } });
    expect((await fetch(`${served.server.url}/v1/chat/completions`)).status).toBe(405);
    expect((await post(served, hello, { path: "embeddings" })).status).toBe(404);
    expect((await post(served, hello, { path: "v1/chat/completions" })).status).toBe(200);
    const body = JSON.stringify({ ...hello, model: "gpt-4o" });
    for (const [name, status] of Object.entries({ critik: 404, critic: 200 })) {
      const url = `${served.server.url}/r/${name}/v1/chat/completions`;
      expect((await fetch(url, { method: "POST", body })).status).toBe(status);
    }
    expect(tokenizer.decode(served.requests.at(-1)?.prompt ?? [])).not.toContain("You write.");
  });

  it("whoever has a key, in either header; without keys only this machine", async () => {
    const served = await serve({ keys: ["one", "two"] });
    const status = async (headers: Record<string, string>) => (await post(served, hello, { headers })).status;
    const sent = [{ authorization: "Bearer one" }, { authorization: "bearer two" }, { "x-api-key": "one" }];
    expect(await Promise.all(sent.map(status))).toEqual([200, 200, 200]);
    const wrong = [{}, { authorization: "Bearer on" }, { "x-api-key": "" }];
    expect(await Promise.all(wrong.map(status))).toEqual([401, 401, 401]);
    expect((await problem(post(served, hello)))[1]).toMatch(/^invalid_api_key: The key is missing or wrong/);
    expect((await fetch(`${served.server.url}/v1/models`)).status).toBe(401);
    const open = await serve();
    expect(await toHost(open, "evil.example")).toMatchObject({ error: { code: "forbidden" } });
    expect((await post(open, hello, { headers: { origin: "http://evil.example" } })).status).toBe(403);
    await expect(serve({ host: "0.0.0.0" })).rejects.toMatchObject({ code: "bad_arguments" });
  });

  it("whoever asked before: responses are referred to with the same key, the newest ones only", async () => {
    const limits = { ...roleServerLimits, saidCharacters: 6000 };
    const served = await serve({ keys: ["one", "two"], limits });
    const respond = async (body: Body, key = "one") => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await post(served, { model: "critic", ...body }, { path: "responses", headers });
      return { ...((await response.json()) as { id: string }), status: response.status };
    };
    const { id } = await respond({ input: "a tree" });
    expect((await respond({ input: "and", previous_response_id: id })).status).toBe(200);
    expect(tokenizer.decode(served.requests[1]?.prompt ?? [])).toContain("a tree");
    expect((await respond({ input: "and", previous_response_id: id }, "two")).status).toBe(400);
    for (let index = 0; index < 20; index++) await respond({ input: "much ".repeat(60) });
    expect((await respond({ input: "and", previous_response_id: id })).status).toBe(400);
  });
});

/** `fetch` does not let a program name another host. */
function toHost({ server }: Served, host: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { host } };
    httpRequest(`${server.url}/v1/chat/completions`, options, (response) => resolve(json(response)))
      .on("error", reject)
      .end(JSON.stringify(hello));
  });
}

describe("under pressure", () => {
  it("50 malformed requests: each is a 400 with a reason, and the next is answered", async () => {
    const served = await serve();
    const texts = ["", "{", "[]", "null", "7", '"x"', "\0", "{}", "[".repeat(5000), '{"model":1}'];
    const [empty, king] = [[{ role: "user" }], [{ role: "king", content: "" }]];
    const messages = [null, 7, "x", [], {}, [null], [{}], empty, king];
    const options: readonly Body[] = [
      ...[-1, 3, "1", {}].map((temperature) => ({ temperature })),
      ...[-0.1, 1.1, "1"].map((top_p) => ({ top_p })),
      ...[-2, 0.5, "3"].map((top_k) => ({ top_k })),
      ...[0.5, "7", 1e300].map((seed) => ({ seed })),
      ...[0, -1, 1.5, "9"].map((max_tokens) => ({ max_tokens })),
      ...[0, 129, 1.5, "2"].map((n) => ({ n })),
      ...[7, [7], Array.from({ length: 17 }, String)].map((stop) => ({ stop })),
      { logprobs: 5 },
      { stream: "yes" },
      { tools: {} },
      { tools: [{ type: "web_search" }] },
      { messages: undefined },
      { messages: [user, { role: "assistant", content: "prefilled" }] },
      { response_format: { type: "xml" } },
    ];
    const bodies = [
      ...texts,
      ...messages.map((given) => ({ ...hello, messages: given })),
      ...options.map((option) => ({ ...hello, ...option })),
    ];
    expect(bodies.length).toBeGreaterThanOrEqual(50);
    for (const body of bodies) {
      const [status, message] = await problem(post(served, body));
      expect([body, status, message]).toEqual([body, 400, expect.stringMatching(/^\w+: ./)]);
    }
    // Numbers that JSON reads as infinite.
    const infinite = JSON.stringify(hello).replace("{", '{"temperature":1e999,');
    expect((await post(served, infinite)).status).toBe(400);
    expect(served.requests).toEqual([]);
    expect(served.server.unfinished()).toBe(0);
    await complete(served, hello);
    expect(served.events).toEqual([]);
  });

  it("what is too much is rejected: a prompt, a body, replies, bytes", async () => {
    const engine = slowEngine();
    const limits = { ...roleServerLimits, pending: 4, requestBytes: 10_000, pendingBytes: 15_000 };
    const served = await serve({ sample: engine.sample, limits });
    const long = { ...hello, messages: [{ role: "user", content: "long ".repeat(1900) }] };
    expect((await problem(post(served, long)))[1]).toContain("context_length_exceeded");
    expect((await problem(post(served, { ...hello, user: "x".repeat(10_000) })))[0]).toBe(413);
    const waiting = post(served, { ...hello, n: 3, user: "x".repeat(9000) });
    await engine.asked;
    const many = await post(served, { ...hello, n: 2 });
    expect([many.status, many.headers.get("retry-after")]).toEqual([429, "1"]);
    expect((await problem(post(served, { ...hello, user: "x".repeat(9000) })))[1]).toContain("15000 bytes");
    const last = post(served, hello);
    engine.free();
    expect([(await waiting).status, (await last).status]).toEqual([200, 200]);
    expect((await post(served, { ...hello, n: 4 })).status).toBe(200);
  });

  it.each([false, true])("a client that goes away is not sampled for; a stream: %s", async (stream) => {
    const engine = slowEngine();
    const served = await serve({ sample: engine.sample });
    const stop = new AbortController();
    const broken = post(served, { ...hello, stream }, { signal: stop.signal }).then((one) => one.text());
    const signal = await engine.asked;
    expect([signal.aborted, served.server.unfinished()]).toEqual([false, 1]);
    stop.abort();
    await expect(broken).rejects.toThrow("aborted");
    while (!signal.aborted) await delay(1);
    engine.free();
    while (served.server.unfinished() > 0) await delay(1);
    expect(served.events).toEqual([]);
  });

  it("a failure of the engine is a 500 that says nothing of it, and is logged", async () => {
    const failure = new ServiceError("host 10.0.0.7 is gone");
    const served = await serve({ sample: () => Promise.reject(failure) });
    expect(await problem(post(served, hello))).toEqual([
      500,
      "sampling_failed: Sampling failed; the server's log says why.",
    ]);
    const streamed = await (await post(served, { ...hello, stream: true })).text();
    expect(streamed).toMatch(/^event: error\ndata: \{"error":\{"message":"Sampling failed/);
    await served.server.close();
    const counts = { requests: { writer: 2 }, rejected: { 500: 1 }, failed: 2, unfinished: 0 };
    expect(served.events).toMatchObject([
      { event: "failure", error: expect.stringContaining("10.0.0.7 is gone") },
      { event: "requests", ...counts, lastFailure: "host 10.0.0.7 is gone" },
    ]);
  });

  it("at its end it finishes what was asked for, and rejects the rest", async () => {
    const engine = slowEngine();
    const served = await serve({ sample: engine.sample });
    const streamed = post(served, { ...hello, stream: true });
    await engine.asked;
    const drained = served.server.drain();
    const rejected = await post(served, hello);
    expect([rejected.status, await rejected.json()]).toMatchObject([503, { error: { code: "stopping" } }]);
    engine.free();
    expect(await (await streamed).text()).toContain("late");
    await drained;
    expect(served.server.unfinished()).toBe(0);
  });
});
