/* oxlint-disable unicorn/consistent-function-scoping */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { SampledSequence, SampleRequest } from "../engines/engine.ts";
import { ServiceError } from "../errors.ts";
import { rootKey } from "../random.ts";
import { Gateway, type OpenSession } from "./gateway.ts";
import type { SessionSetting } from "./session.ts";
import { roleNamed, sampled, tokenizer } from "./testing/sampled.ts";

const gateway = new Gateway();
afterAll(() => gateway.close());

interface Opened extends OpenSession {
  readonly requests: readonly SampleRequest[];
}

/** Every reply is what the request's seed says, unless the script says otherwise. */
async function open(
  changes: Partial<SessionSetting> & { script?: (request: SampleRequest, prompt: string) => string } = {},
): Promise<Opened> {
  const { script = ({ seed }: SampleRequest) => `n${seed % 1000}`, ...rest } = changes;
  const requests: SampleRequest[] = [];
  const opened = await gateway.open({
    roles: [roleNamed("writer"), roleNamed("critic")],
    sampling: { temperature: 1 },
    turns: 40,
    key: rootKey(3),
    sample: async (request, signal) => {
      requests.push(request);
      await delay(requests.length % 7, undefined, { signal });
      return sampled(request, script(request, tokenizer.decode(request.prompt)));
    },
    ...rest,
  });
  return { ...opened, requests };
}

interface Sent {
  readonly role?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function post({ variables }: OpenSession, body: unknown, { role, url, headers, signal }: Sent = {}) {
  const suffix = role === undefined ? "" : `_${role.toUpperCase()}`;
  return fetch(`${url ?? variables[`OPENAI_BASE_URL${suffix}`]}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${variables[`OPENAI_API_KEY${suffix}`]}`, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

const hello = { model: "m", messages: [{ role: "user", content: "hello" }] };

interface Completion {
  readonly choices: readonly {
    readonly message: Readonly<Record<string, unknown>>;
    readonly finish_reason: string;
  }[];
  readonly usage: Readonly<Record<string, number>>;
  readonly warnings?: readonly string[];
}

async function complete(
  opened: OpenSession,
  body: object,
  sent: Sent = { role: "writer" },
): Promise<Completion> {
  const response = await post(opened, body, sent);
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

async function problem(response: Promise<Response>): Promise<readonly [number, string]> {
  const received = await response;
  const { error } = (await received.json()) as { error?: { code: string; message: string } };
  if (error === undefined) return [received.status, ""];
  return [received.status, `${error.code}: ${error.message}`];
}

describe("which role is asked", () => {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open();
  });
  const whole = () => opened.variables["OPENAI_BASE_URL"] ?? "";

  it.each<[string, Sent & { readonly model?: string }]>([
    ["its key, and no path", { role: "critic", url: "bare" }],
    ["its path, with the episode's key", { url: "path" }],
    ["the header", { headers: { "x-troupe-role": "critic" } }],
    ["its name as the model", { model: "critic" }],
  ])("%s", async (_, { model = "m", url, ...sent }) => {
    const urls: Record<string, string> = {
      bare: whole().replace(/\/e\/.*$/, "/v1"),
      path: whole().replace(/\/v1$/, "/r/critic/v1"),
    };
    const place = url === undefined ? {} : { url: urls[url] ?? "" };
    expect((await post(opened, { ...hello, model }, { ...sent, ...place })).status).toBe(200);
    expect(opened.session.end().at(-1)?.role).toBe("critic");
  });

  it("nobody: 400, which names the roles", async () => {
    const [status, message] = await problem(post(opened, hello));
    expect(status).toBe(400);
    expect(message).toContain("no_role: The request names no role; the roles are writer, critic.");
  });

  const critic = { "x-troupe-role": "critic" };
  it.each<[string, Sent & { readonly model?: string }, string]>([
    [
      "two at once, by key and header",
      { role: "writer", headers: critic },
      "names several roles: writer, critic.",
    ],
    [
      "two at once, by key and model",
      { role: "writer", model: "critic" },
      "names several roles: writer, critic.",
    ],
    [
      "an unknown one",
      { headers: { "x-troupe-role": "critik" } },
      "There is no role `critik`; did you mean `critic`?",
    ],
  ])("%s: rejected", async (_, { model = "m", ...sent }, said) => {
    const [status, message] = await problem(post(opened, { ...hello, model }, sent));
    expect([status, message.startsWith("unknown_role: "), message.endsWith(said)]).toEqual([400, true, true]);
  });

  it("the key of no episode, or that of one and the address of another: rejected, and neither has a reply", async () => {
    const none = { url: whole().replace(/\/e\/.*$/, "/v1"), headers: { authorization: "Bearer sk-other" } };
    expect((await post(opened, hello, none)).status).toBe(401);
    const other = await open();
    const url = other.variables["OPENAI_BASE_URL_WRITER"] ?? "";
    expect(await problem(post(opened, hello, { role: "writer", url }))).toEqual([
      401,
      "invalid_api_key: The key and the address are those of different episodes.",
    ]);
    expect([...opened.session.end(), ...other.session.end()]).toEqual([]);
    // An address is as hard to guess as a key: programs whose keys are fixed need no other.
    const fixed = { headers: { authorization: "Bearer EMPTY" } };
    expect((await post(await open({ roles: [roleNamed("solo")] }), hello, fixed)).status).toBe(200);
  });

  it("a team of one needs no name", async () => {
    const alone = await open({ roles: [roleNamed("solo")] });
    expect((await post(alone, hello)).status).toBe(200);
    expect(alone.session.end().map((reply) => reply.role)).toEqual(["solo"]);
  });
});

const call = (city: string) =>
  `<tool_call>\n{"name": "look", "arguments": {"city": "${city}"}}\n</tool_call>`;

/** What the writer says if the roles are asked the same in this order. */
async function writerAfter(order: readonly string[]): Promise<string | undefined> {
  const opened = await open();
  for (const role of order) await complete(opened, hello, { role });
  return opened.session.end().find(({ role }) => role === "writer")?.reply.text;
}

describe("what was sampled", () => {
  it("is recorded exactly, whoever speaks in between", async () => {
    const opened = await open();
    const talk = async (name: string, first: string): Promise<void> => {
      const messages: { role: string; content: unknown }[] = [{ role: "user", content: first }];
      for (let turn = 0; turn < 3; turn++) {
        const { choices } = await complete(opened, { messages }, { role: name });
        messages.push({ role: "assistant", content: choices[0]?.message["content"] });
        messages.push({ role: "user", content: [{ type: "text", text: `turn ${turn}` }] });
      }
    };
    await Promise.all([talk("writer", "one"), talk("critic", "two"), talk("writer", "three")]);
    const replies = opened.session.end();
    expect(replies).toHaveLength(9);
    for (const { prompt, tokens, logprobs, branch, masked } of replies) {
      expect([branch, masked, logprobs.length]).toEqual([undefined, undefined, tokens.length]);
      expect(opened.requests.find((one) => one.prompt === prompt)).toBeDefined();
    }
    // Each later prompt begins with the earlier one and what was sampled from it, id for id.
    const later = replies.filter(({ prompt }) => tokenizer.decode(prompt).includes("turn 0"));
    expect(later).toHaveLength(6);
    for (const { prompt } of later) {
      const beginnings = replies.map((one) => [...one.prompt, ...one.tokens]);
      expect(beginnings.some((one) => one.every((token, index) => prompt[index] === token))).toBe(true);
    }
  });

  it("depends on the prompt and its number alone, not on when it was asked", async () => {
    const bodies = ["a", "b", "c"].map((content) => ({ messages: [{ role: "user", content }] }));
    const [one, other] = [await open(), await open()];
    const said = async (opened: Opened, order: readonly object[]): Promise<unknown[]> => {
      const answers = new Map<object, unknown>();
      for (const body of order) answers.set(body, (await complete(opened, body)).choices[0]?.message);
      return bodies.map((body) => answers.get(body));
    };
    expect(await said(one, bodies)).toEqual(await said(other, bodies.toReversed()));
    const again = await complete(one, bodies[0] as object);
    expect(again.choices[0]?.message).not.toEqual((await said(other, [bodies[0] as object]))[1]);
  });

  it("of one role does not depend on what another was asked before", async () => {
    expect(await writerAfter(["critic", "writer"])).toBe(await writerAfter(["writer", "critic"]));
  });

  it("has a full usage, and as many choices as asked for", async () => {
    const opened = await open();
    const { choices, usage } = await complete(opened, { ...hello, n: 3, max_tokens: 2 });
    expect(choices.map((choice) => choice.finish_reason)).toEqual(["length", "length", "length"]);
    expect(usage).toMatchObject({ prompt_tokens: expect.any(Number), completion_tokens: 6 });
    expect(usage["total_tokens"]).toBe(Number(usage["prompt_tokens"]) + 6);
    expect(opened.requests[0]).toMatchObject({ count: 3, maxTokens: 2 });
    expect(opened.session.end()).toHaveLength(3);
  });

  it("is shown without what stopped it; options that cannot be had are named", async () => {
    const opened = await open({ script: () => "one STOP two" });
    const body = { ...hello, stop: ["STOP"], temperature: 0, response_format: { type: "json_object" } };
    const { choices, warnings } = await complete(opened, body);
    expect(choices[0]?.message["content"]).toBe("one ");
    expect(warnings).toEqual([
      "`temperature` has no effect: the recipe decides how roles are sampled",
      expect.stringContaining("not constrained"),
      "the reply is not JSON",
    ]);
    expect(tokenizer.decode(opened.requests[0]?.prompt ?? [])).toContain('JSON schema:\n{"type":"object"}');
  });

  it("may be calls of tools, whose answers continue the conversation", async () => {
    const opened = await open({
      script: (_, prompt) => (prompt.includes("sunny") ? "done" : `${call("Rome")}\n${call("Oslo")}`),
    });
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
    const messages: object[] = [{ role: "user", content: "weather" }];
    const { choices } = await complete(opened, { messages, tools });
    const message = choices[0]?.message as { tool_calls: { id: string; function: { arguments: string } }[] };
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    const given = message.tool_calls.map((one) => one.function.arguments);
    expect(given).toEqual(['{"city":"Rome"}', '{"city":"Oslo"}']);
    const answers = message.tool_calls.map(({ id }) => ({
      role: "tool",
      tool_call_id: id,
      content: "sunny",
    }));
    messages.push(message, ...answers);
    const next = await complete(opened, { messages, tools });
    expect(next.choices[0]?.message).toMatchObject({ content: "done" });
    const [first, second] = opened.session.end();
    expect(second).not.toHaveProperty("branch");
    expect([...(second?.prompt ?? [])].slice(0, first?.prompt.length)).toEqual([...(first?.prompt ?? [])]);
  });

  it.each([true, false])(
    "comes as a stream, too, with its usage once (a chunk of its own: %s)",
    async (own) => {
      const opened = await open();
      const options = own ? { stream_options: { include_usage: true } } : {};
      const asked = { ...hello, n: 2, stream: true, ...options };
      const response = await post(opened, asked, { role: "writer" });
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      type Chunk = { readonly choices: object[]; readonly usage?: object | null };
      const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
      const chunks = lines.map((line) => JSON.parse(line.slice(6)) as Chunk);
      const [reply, other] = opened.session.end();
      const delta = { role: "assistant", content: reply?.reply.text };
      expect(chunks[0]).toMatchObject({ choices: [{ delta }] });
      // Some clients look for the first choice of every chunk; some add up all usage.
      const withUsage = chunks.filter(({ usage }) => usage !== undefined && usage !== null);
      const tokens = (reply?.tokens.length ?? 0) + (other?.tokens.length ?? 0);
      expect(withUsage).toMatchObject([{ usage: { completion_tokens: tokens } }]);
      expect(chunks.at(-1)).toBe(withUsage[0]);
      expect(chunks.filter(({ choices }) => choices.length === 0)).toHaveLength(own ? 1 : 0);
      expect(chunks.every(({ usage }) => usage !== undefined)).toBe(own);
    },
  );

  it("says how many of its tokens were known before, and how many are thinking", async () => {
    const opened = await open({ script: () => "<think>\nhm, so\n</think>\n\nleft" });
    const messages: object[] = [...hello.messages];
    const first = await complete(opened, { messages });
    messages.push({ role: "assistant", content: first.choices[0]?.message["content"] });
    const next = await complete(opened, { messages: [...messages, { role: "user", content: "and" }] });
    const [one, two] = opened.session.end();
    const thought = tokenizer.encode("<think>\nhm, so").length;
    expect([first.usage, next.usage]).toMatchObject([
      {
        prompt_tokens: one?.prompt.length,
        completion_tokens: one?.tokens.length,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: thought },
      },
      {
        prompt_tokens: two?.prompt.length,
        prompt_tokens_details: { cached_tokens: (one?.prompt.length ?? 0) + (one?.tokens.length ?? 0) },
      },
    ]);
  });

  it("keeps its order, but what is asked at the same time has one that chance does not decide", async () => {
    const orderOf = async (delays: readonly number[]): Promise<readonly unknown[]> => {
      const [all, asked] = [Promise.withResolvers<void>(), new Set<SampleRequest>()];
      const sample = async (request: SampleRequest): Promise<readonly SampledSequence[]> => {
        if (tokenizer.decode(request.prompt).includes("part")) {
          if (asked.add(request).size === delays.length) all.resolve();
          await all.promise;
        }
        return sampled(request, "said");
      };
      const opened = await open({ sample });
      const ask = async (index: number): Promise<void> => {
        await delay(delays[index]);
        await complete(opened, { messages: [{ role: "user", content: `part ${index}` }] });
      };
      await complete(opened, hello, { role: "critic" });
      await Promise.all(delays.map((_, index) => ask(index)));
      await complete(opened, hello, { role: "critic" });
      return opened.session.end().map(({ id, role }) => [id, role]);
    };
    const one = await orderOf([0, 0, 0, 0]);
    expect(await orderOf([3, 2, 1, 0])).toEqual(one);
    const roles = one.map((reply) => (reply as string[])[1]).join(" ");
    expect(roles).toBe("critic writer writer writer writer critic");
  });
});

/** Closes what the text opens, with very many lists in between. */
function nested(start: string): string {
  const ends = Array.from(start.replaceAll(/[^[{]/g, ""), (one) => (one === "[" ? "]" : "}")).toReversed();
  return start + "[".repeat(50_000) + "]".repeat(50_000) + ends.join("");
}

function calling(given: string): object {
  return {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "a", function: { name: "f", arguments: given } }],
  };
}

/** It resolves `asked`, and waits for `free`. */
function slow() {
  const [asked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const sample = async (request: SampleRequest): Promise<readonly SampledSequence[]> => {
    asked.resolve();
    await free.promise;
    return sampled(request, "late");
  };
  return { asked, free, sample };
}

/** A session whose only call, by a client that has gone, is sampled once `free` resolves. */
async function abandoned(): Promise<{ opened: OpenSession; free: PromiseWithResolvers<void> }> {
  const { asked, free, sample } = slow();
  const opened = await open({ sample });
  const stop = new AbortController();
  const broken = post(opened, hello, { role: "writer", signal: stop.signal });
  await asked.promise;
  stop.abort();
  await expect(broken).rejects.toThrow("aborted");
  // The server hears of it a moment later.
  await delay(250);
  return { opened, free };
}

describe("a call that is sent again", () => {
  it("after its connection broke gets the same answer, sampled once", async () => {
    const { opened, free } = await abandoned();
    const again = complete(opened, hello);
    free.resolve();
    const { choices } = await again;
    const replies = opened.session.end();
    expect(replies).toHaveLength(1);
    expect(replies[0]).toMatchObject({ reply: { text: choices[0]?.message["content"] } });
    expect(replies[0]).not.toHaveProperty("masked");
  });

  it("by a client that says so gets the same answer; without a word it is another sample", async () => {
    const opened = await open();
    const texts: unknown[] = [];
    const again = [{ "x-stainless-retry-count": "1" }, {}, { "idempotency-key": "k" }];
    for (const headers of [{}, ...again, ...again.slice(-1)])
      texts.push((await complete(opened, hello, { role: "writer", headers })).choices[0]?.message["content"]);
    expect(texts[1]).toBe(texts[0]);
    expect(texts[4]).toBe(texts[3]);
    expect(new Set(texts).size).toBe(3);
    expect(opened.session.end()).toHaveLength(3);
  });

  it("by twenty agents at once is sampled once for each", async () => {
    const opened = await open();
    const agent = async (): Promise<void> => {
      const stop = new AbortController();
      const broken = post(opened, hello, { role: "writer", signal: stop.signal });
      setTimeout(() => stop.abort(), 3);
      await broken.catch(() => null);
      const headers = { "x-stainless-retry-count": "1" };
      await complete(opened, hello, { role: "writer", headers });
    };
    await Promise.all(Array.from({ length: 20 }, agent));
    const replies = opened.session.end();
    expect(replies.length).toBeLessThanOrEqual(20);
    expect(replies.length).toBe(opened.requests.length);
  });

  it("whose answer was sent, but not read before the client reset the connection, gets the same one", async () => {
    const opened = await open();
    const { hostname, port, pathname } = new URL(opened.variables["OPENAI_BASE_URL_WRITER"] ?? "");
    const body = JSON.stringify(hello);
    const socket = connect(Number(port), hostname).pause();
    socket.write(
      `POST ${pathname}/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    while (opened.session.calls === 0 || opened.session.isSampling) await delay(1);
    // It is sent a moment later.
    await delay(100);
    socket.resetAndDestroy();
    await delay(100);
    const { choices } = await complete(opened, hello);
    const replies = opened.session.end();
    expect(replies).toMatchObject([{ reply: { text: choices[0]?.message["content"] } }]);
    expect(replies[0]).not.toHaveProperty("masked");
  });

  it("never, leaves an answer that nobody got: it is masked", async () => {
    const { opened, free } = await abandoned();
    free.resolve();
    while (opened.session.isSampling) await delay(1);
    expect(opened.session.end()).toMatchObject([{ masked: "the program did not get the answer" }]);
  });
});

describe("what cannot be answered", () => {
  it("after the end: 409, and nothing is sampled", async () => {
    const opened = await open();
    opened.session.end();
    expect(await problem(post(opened, hello, { role: "writer" }))).toEqual([
      409,
      "episode_ended: The episode has ended.",
    ]);
    expect(opened.requests).toEqual([]);
  });

  it("of more sessions than are remembered: those that have not ended keep their keys", async () => {
    const first = await open();
    const url = `${new URL(first.address.url).origin}/v1`;
    for (let count = 0; count < 3400; count++) (await open()).session.end();
    expect((await complete(first, hello, { role: "writer", url })).choices).toHaveLength(1);
  });

  it("at the end: what is sampled afterwards is nobody's, and no failure", async () => {
    const { asked, free, sample } = slow();
    const opened = await open({ sample });
    const late = problem(post(opened, hello, { role: "writer" }));
    await asked.promise;
    expect(opened.session.end()).toEqual([]);
    free.resolve();
    expect((await late)[0]).toBe(409);
    expect(opened.session.failing.aborted).toBe(false);
    expect(opened.session.end()).toEqual([]);
  });

  it("more calls than turns, a prompt that is too long: 400", async () => {
    const opened = await open({ turns: 1 });
    const long = { messages: [{ role: "user", content: "long ".repeat(1200) }] };
    expect((await problem(post(opened, long, { role: "writer" })))[1]).toContain("context_length_exceeded");
    await complete(opened, hello);
    expect((await problem(post(opened, hello, { role: "writer" })))[1]).toContain("turn_limit");
    await complete(opened, hello, { role: "critic" });
  });

  it("a failure of ours: 500, and the session fails", async () => {
    const failure = new ServiceError("the server is gone");
    const opened = await open({ sample: () => Promise.reject(failure) });
    const response = await post(opened, hello, { role: "writer" });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([500, "false"]);
    expect(opened.session.failing.reason).toBe(failure);
    expect(opened.session.end()).toEqual([]);
  });

  it("malformed requests: 4xx, and the session goes on", async () => {
    const opened = await open();
    // What else both servers reject is in server.test.ts.
    const messages: readonly unknown[] = [
      [{ role: "king", content: "x" }],
      [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:" } }] }],
      [{ role: "tool", content: "x" }],
      [calling("{")],
      [...hello.messages, { role: "assistant", content: "prefilled" }],
    ];
    const bodies: readonly unknown[] = [
      "",
      "{}",
      `{"messages": [{"role": "user", "content": "x"}], "tools": [${nested('{"type":"function","function":{"name":"f","parameters":{"a":[')}]}`,
      { messages: [calling(nested('{"a":[')), ...hello.messages] },
      ...messages.map((given) => ({ messages: given })),
      ...[0, 1000].map((n) => ({ ...hello, n })),
      ...[{}, [{}], [{ type: "function" }], "x"].map((tools) => ({ ...hello, tools })),
      { ...hello, response_format: { type: "json_schema", json_schema: { schema: { type: "nonsense" } } } },
    ];
    for (const body of bodies) {
      const [status, message] = await problem(post(opened, body, { role: "writer" }));
      expect([body, status, message]).toEqual([body, 400, expect.stringMatching(/^invalid_request: ./)]);
    }
    const nowhere = { url: `${opened.variables["OPENAI_BASE_URL"]}/nothing` };
    expect((await post(opened, hello, nowhere)).status).toBe(404);
    const user = { role: "user", content: "x" };
    const others: Readonly<Record<string, readonly object[]>> = {
      messages: [
        { messages: [user] },
        { max_tokens: 9, messages: [] },
        { max_tokens: 9, messages: [{ ...user, role: "system" }] },
        { max_tokens: 9, messages: [user, { ...user, role: "assistant" }] },
        { max_tokens: 9, messages: [{ ...user, content: [{ type: "image", source: {} }] }] },
      ],
      responses: [
        {},
        { input: [] },
        { input: [{ type: "web_search_call" }] },
        { input: [{ type: "item_reference", id: "msg_none" }] },
        { input: "x", previous_response_id: "resp_none" },
        { input: "x", tools: [{ type: "web_search" }] },
      ],
    };
    for (const [path, bodiesOf] of Object.entries(others))
      for (const body of bodiesOf) {
        const url = `${opened.variables["ANTHROPIC_BASE_URL_WRITER"]}/v1/${path}`;
        const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
        const { error } = (await response.json()) as { error: { message: string } };
        expect([body, response.status, error.message]).toEqual([body, 400, expect.stringMatching(/./)]);
      }
    expect(opened.session.failing.aborted).toBe(false);
    await complete(opened, hello);
    expect(opened.session.end()).toHaveLength(1);
  });
});
