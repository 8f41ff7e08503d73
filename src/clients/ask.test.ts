/** Real requests to servers that speak each service's format. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceError } from "../errors.ts";
import { type AnswerFormat, askService } from "./ask.ts";
import { checkInstalled } from "./models.ts";
import { type ClientOptions, clientOptions } from "./options.ts";

const secret = "a-secret-key";
const expert = { role: "expert", alternative: "do without one" };
const text = 'An edit: {"main": "def f():\\n    return 1\\n"}';

interface Format {
  readonly provider: ClientOptions["provider"];
  /** Where the question arrives, below the base URL. */
  readonly path: string;
  readonly key: readonly [header: string, value: string];
  /** Parts of the question. */
  readonly question: object;
  readonly answer: object;
}

const chat = {
  path: "/chat/completions",
  key: ["authorization", `Bearer ${secret}`],
  question: {
    model: "wise",
    temperature: 0.3,
    max_tokens: 99,
    messages: [
      { role: "system", content: "Review." },
      { role: "user", content: "def f(): pass" },
    ],
  },
  answer: {
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "wise",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
} as const satisfies Omit<Format, "provider">;

const gemini = {
  path: "/models/wise:generateContent",
  key: ["x-goog-api-key", secret],
  question: {
    systemInstruction: { parts: [{ text: "Review." }] },
    contents: [{ role: "user", parts: [{ text: "def f(): pass" }] }],
    generationConfig: { temperature: 0.3, maxOutputTokens: 99 },
  },
  answer: {
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
} as const satisfies Omit<Format, "provider">;

const formats: readonly Format[] = [
  { provider: "openai", ...chat },
  { provider: "deepseek", ...chat },
  { provider: "dashscope", ...chat },
  { provider: "compatible", ...chat },
  {
    provider: "anthropic",
    path: "/messages",
    key: ["x-api-key", secret],
    question: {
      model: "wise",
      max_tokens: 99,
      temperature: 0.3,
      system: [{ type: "text", text: "Review." }],
      messages: [{ role: "user", content: [{ type: "text", text: "def f(): pass" }] }],
    },
    answer: {
      id: "1",
      type: "message",
      role: "assistant",
      model: "wise",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  { provider: "google", ...gemini },
  { provider: "vertex", ...gemini },
];

interface Asked {
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

type Respond = (response: ServerResponse) => void;

const asked: Asked[] = [];
let respond: Respond;
let server: Server;
let address = "";

beforeAll(async () => {
  process.env["TEST_ASK_KEY"] = secret;
  server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  delete process.env["TEST_ASK_KEY"];
  server.closeAllConnections();
  server.close();
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const part of request) body += String(part);
  asked.push({ url: request.url, headers: request.headers, body: body === "" ? null : JSON.parse(body) });
  respond(response);
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const messages = [
  { role: "system", content: "Review." },
  { role: "user", content: "def f(): pass" },
] as const;

async function question(provider: ClientOptions["provider"], more: object = {}): Promise<string> {
  asked.length = 0;
  const { value } = await askService(
    optionsFor(provider, more),
    expert,
    { messages, read: asWritten },
    never,
  );
  return value;
}

const asWritten = (answer: string): string => answer;
const never = new AbortController().signal;

function optionsFor(provider: ClientOptions["provider"], more: object = {}): ClientOptions {
  return clientOptions.parse({
    provider,
    model: "wise",
    baseUrl: `${address}/base/`,
    keyVariable: "TEST_ASK_KEY",
    maxTokens: 99,
    ...more,
  });
}

/** With everything that a log could show of it. */
async function failure(asking: Promise<string>): Promise<Error & { readonly code?: string }> {
  const error = await asking.then(
    () => new Error("answered"),
    (thrown: unknown) => thrown as Error,
  );
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(secret);
  return error;
}

it.each(formats)("$provider is asked in its format, with its key", async (format) => {
  const [header, value] = format.key;
  respond = json(200, format.answer);
  expect(await question(format.provider)).toBe(text);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.url).toBe(`/base${format.path}`);
  expect(asked[0]?.headers[header]).toBe(value);
  expect(asked[0]?.body).toMatchObject(format.question);
});

/** The other two have the package of compatible services. */
const packaged = formats.filter(({ provider }) => provider !== "deepseek" && provider !== "dashscope");

/** What went wrong, as a service's failure. */
async function serviceFailure(provider: ClientOptions["provider"], more: object = {}): Promise<string> {
  const error = await failure(question(provider, more));
  expect(error).toBeInstanceOf(ServiceError);
  return error.message;
}

describe.each(packaged)("$provider", ({ provider, path, answer }) => {
  it.each([429, 500, 503, 404])("status %i is a service's failure, not retried here", async (status) => {
    respond = json(status, { error: { message: `no, ${secret}`, type: "error", code: status } });
    const expected = `The expert wise (${provider}) answered with status ${status}.`;
    expect(await serviceFailure(provider)).toBe(expected);
    expect(asked).toHaveLength(1);
  });

  it.each([401, 403])("status %i: the key is not accepted", async (status) => {
    respond = json(status, { error: { message: `invalid key ${secret}` } });
    const error = await failure(question(provider));
    expect(error.code).toBe("bad_arguments");
    expect(error.message).toContain(`does not accept the key in TEST_ASK_KEY (${status})`);
  });

  it.each([
    ["no JSON", "<html>oops</html>"],
    ["another JSON", '{"choices": 3, "content": 3, "candidates": 3}'],
    ["half a JSON", JSON.stringify(answer).slice(0, 40)],
    ["nothing", ""],
  ])("%s is an answer that cannot be read", async (_, body) => {
    respond = json(200, body);
    expect(await serviceFailure(provider)).toContain("gave an answer that cannot be read");
  });

  it("an answer without text is empty", async () => {
    respond = json(200, JSON.stringify(answer).replaceAll(JSON.stringify(text), '""'));
    expect(await question(provider)).toBe("");
  });

  it("a broken connection, an answer of 2 MiB, a redirect and a refused connection are a service's failures", async () => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write(JSON.stringify(answer).slice(0, 20), () => response.destroy());
    };
    expect(await serviceFailure(provider)).toContain("broke off its answer");
    respond = json(200, " ".repeat(2 ** 21));
    expect(await serviceFailure(provider)).toContain("broke off its answer: more than 1048576 bytes");
    // It is not followed: the key stays.
    respond = json(307, "", { location: `${address}/elsewhere` });
    await serviceFailure(provider);
    expect(asked.map(({ url }) => url)).toEqual([`/base${path}`]);
    const refused = await serviceFailure(provider, { baseUrl: "http://127.0.0.1:1/" });
    expect(refused).toContain("cannot be reached");
  });

  it("a stall, before or during the answer, ends after the time limit", async () => {
    respond = () => {};
    const silent = await serviceFailure(provider, { timeoutSeconds: 0.1 });
    expect(silent).toMatch(/cannot be reached: it did not answer in time/);
    respond = (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write(" ");
    };
    const stalled = await serviceFailure(provider, { timeoutSeconds: 0.3 });
    expect(stalled).toMatch(/broke off its answer: it did not answer in time/);
  });
});

const askFor = (provider: ClientOptions["provider"], format: AnswerFormat) => {
  asked.length = 0;
  return askService(optionsFor(provider), expert, { messages, format, read: asWritten }, never);
};

describe("a question for JSON", () => {
  const schema = {
    type: "object",
    properties: { score: { type: "number" } },
    required: ["score"],
    additionalProperties: false,
  };
  const sent: Readonly<Partial<Record<ClientOptions["provider"], string>>> = {
    google: `"responseJsonSchema":{"type":"object"`,
    vertex: `"responseJsonSchema":{"type":"object"`,
    anthropic: JSON.stringify(schema.properties),
  };
  it.each(formats)("sends $provider the schema", async ({ provider, answer }) => {
    respond = json(200, answer);
    await askFor(provider, { schema });
    const { body } = asked[0] as { body: object };
    const chats = `"schema":${JSON.stringify(schema)}`;
    expect(JSON.stringify(body)).toContain(sent[provider] ?? chats);
  });

  it.each(["openai", "deepseek", "dashscope", "compatible"] as const)(
    "tells %s the format only",
    async (name) => {
      respond = json(200, chat.answer);
      // Whatever the answer is, it is returned as it was written.
      const { value: answered, cutOff, inputTokens, outputTokens } = await askFor(name, { schema: null });
      expect([answered, cutOff, inputTokens, outputTokens]).toEqual([text, null, 1, 1]);
      expect(asked[0]?.body).toMatchObject({ response_format: { type: "json_object" } });
    },
  );

  it.each([
    ["length", "maxTokens"],
    ["max_tokens", "maxTokens"],
    ["model_length", "maxTokens"],
    ["content_filter", "service"],
  ])("learns that an answer was cut off (%s), and that tokens were not counted", async (reason, cutOff) => {
    const [choice] = chat.answer.choices;
    respond = json(200, {
      ...chat.answer,
      usage: undefined,
      choices: [{ ...choice, finish_reason: reason }],
    });
    expect(await askFor("compatible", { schema })).toEqual({
      value: text,
      characters: text.length,
      cutOff,
      inputTokens: null,
      outputTokens: null,
    });
  });
});

it.each([-1_000_000, 1e300, 0.5])("a count of %d tokens is none", async (tokens) => {
  respond = json(200, { ...chat.answer, usage: { prompt_tokens: tokens, completion_tokens: tokens } });
  const { inputTokens, outputTokens } = await askFor("compatible", { schema: null });
  expect([inputTokens, outputTokens]).toEqual([null, null]);
});

function answering(content: string): void {
  const [choice] = chat.answer.choices;
  respond = json(200, {
    ...chat.answer,
    choices: [{ ...choice, message: { ...choice.message, content } }],
  });
}

const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

const blameIn = (written: string) => {
  return { isRole: (JSON.parse(written) as { blame: string }).blame === "solver", written };
};

describe("a key in the answer", () => {
  const escaped = Array.from(secret, escape).join("");

  it.each([
    ["as it is", secret],
    ["escaped", escaped],
    ["escaped in part", `${secret.slice(0, 3)}${escaped.slice(18)}`],
    ["in an address", `https://example.org/?key=${encodeURIComponent(secret)}`],
    ["in Base64", Buffer.from(secret).toString("base64")],
  ])("is redacted, %s", async (_, written) => {
    answering(`The key is ${written}.`);
    expect(await question("compatible")).toContain("[TEST_ASK_KEY].");
  });

  it("is redacted in what was read, not before: it may be a word of the format", async () => {
    process.env["TEST_ASK_KEY"] = "solver";
    try {
      answering('{"blame": "solver", "\\u0073olver": 1}');
      const asking = askService(optionsFor("compatible"), expert, { messages, read: blameIn }, never);
      const { isRole, written } = (await asking).value;
      expect(isRole).toBe(true);
      expect(written).toBe('{"blame": "[TEST_ASK_KEY]", "[TEST_ASK_KEY]": 1}');
    } finally {
      process.env["TEST_ASK_KEY"] = secret;
    }
  });

  it("a short word is no secret", async () => {
    process.env["TEST_ASK_KEY"] = "none";
    try {
      answering('{"blame": "none"}');
      expect(await question("compatible")).toBe('{"blame": "none"}');
    } finally {
      process.env["TEST_ASK_KEY"] = secret;
    }
  });
});

const until = () => new Date(Date.now() + 50_000).toUTCString();

it.each<[string, () => Record<string, string>, number, number]>([
  ["seconds", () => ({ "retry-after": "7" }), 7000, 7000],
  ["milliseconds", () => ({ "retry-after-ms": "1500", "retry-after": "2" }), 1500, 1500],
  ["until a date", () => ({ "retry-after": until() }), 40_000, 50_000],
  ["a date that is over", () => ({ "retry-after": "Mon, 01 Jan 2024 00:00:00 GMT" }), 0, 0],
  ["a day", () => ({ "retry-after": "86400" }), 600_000, 600_000],
])("%s", async (_, headers, least, most) => {
  respond = json(429, {}, headers());
  const { retryAfter } = (await failure(question("compatible"))) as ServiceError;
  expect(retryAfter).toBeGreaterThanOrEqual(least);
  expect(retryAfter).toBeLessThanOrEqual(most);
});

it.each(["soon", "-3", ""])(
  "a service that asks to wait for a time that cannot be read, %j, does not say",
  async (after) => {
    respond = json(429, {}, { "retry-after": after });
    const { retryAfter } = (await failure(question("compatible"))) as ServiceError;
    expect(retryAfter).toBeUndefined();
  },
);

it("Google's status 400 is reported as a wrong key", async () => {
  respond = json(400, {
    error: {
      code: 400,
      message: "API key not valid.",
      status: "INVALID_ARGUMENT",
      details: [{ reason: "API_KEY_INVALID" }],
    },
  });
  expect((await failure(question("google"))).message).toContain(
    "does not accept the key in TEST_ASK_KEY (400)",
  );
});

it("a compatible service without a variable gets no key, whatever the environment has", async () => {
  process.env["OPENAI_API_KEY"] = secret;
  try {
    respond = json(200, chat.answer);
    expect(await question("compatible", { keyVariable: undefined })).toBe(text);
    expect(JSON.stringify(asked[0]?.headers)).not.toContain(secret);
  } finally {
    delete process.env["OPENAI_API_KEY"];
  }
});

it("a service that wants a key is not said to reject one that was not sent", async () => {
  respond = json(401, { error: { message: "no key" } });
  const error = await failure(question("compatible", { keyVariable: undefined }));
  expect(error.code).toBe("bad_arguments");
  expect(error.message).toContain("answered 401, and no key was sent");
});

it("a cancelled question ends", async () => {
  respond = () => {};
  const options = clientOptions.parse({ provider: "compatible", model: "wise", baseUrl: address });
  const cancelled = new AbortController();
  const asking = askService(options, expert, { messages, read: asWritten }, cancelled.signal);
  cancelled.abort();
  expect(await failure(asking.then(({ value }) => value))).toBeInstanceOf(ServiceError);
});

it("an address with a password is rejected without repeating it", () => {
  const options = { provider: "compatible", model: "wise" };
  const checked = clientOptions.safeParse({ ...options, baseUrl: "https://user:hidden@example.org/v1" });
  expect(checked.error?.issues[0]?.message).toContain("an address without user and password");
  expect(JSON.stringify(checked.error)).not.toContain("hidden");
  expect(clientOptions.safeParse({ ...options, baseUrl: "https://example.org/v1" }).success).toBe(true);
});

it("names the command that installs the package of vertex", () => {
  expect(() => checkInstalled("vertex", notFound)).toThrow(
    "vertex needs a package that is not installed: run `npm install @ai-sdk/google-vertex@5`, or choose the provider google.",
  );
  expect(() => checkInstalled("google", notFound)).not.toThrow();
  expect(() => checkInstalled("vertex")).not.toThrow();
});

function notFound(): never {
  throw new Error("Cannot find module");
}
