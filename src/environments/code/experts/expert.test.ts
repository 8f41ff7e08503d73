import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { clientOptions } from "../../../clients/options.ts";
import { unrecordedCalls } from "../../../calls/recorded.ts";
import { ServiceLog } from "../../../calls/services.ts";
import { plainReply } from "../../progression.ts";
import { checkedOptions } from "../options.ts";
import { contextWith, goodHelper, poorMain, smallEnvironment } from "../testing/problems.ts";
import { sandbox, works } from "../testing/sandbox.ts";
import { editsOf, readEdits } from "./expert.ts";
import { expertNamed } from "./names.ts";

interface Asked {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: { readonly model: string; readonly messages: readonly { readonly content: string }[] };
}

const asked: Asked[] = [];
/** The service's next answers: a status and the text of the message. */
let answers: (readonly [status: number, text: string, finish?: string])[] = [];
let server: Server;
let baseUrl = "";

const secret = "a-secret-key";

beforeAll(async () => {
  process.env["TEST_EXPERT_KEY"] = secret;
  server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
});
afterAll(() => {
  delete process.env["TEST_EXPERT_KEY"];
  server.close();
});
afterEach(() => {
  asked.length = 0;
  answers = [];
});

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.parse(await textOf(request)) as Asked["body"];
  asked.push({ url: request.url, authorization: request.headers.authorization, body });
  const [status, text, finish] = answers.shift() ?? [500, ""];
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ choices: [{ message: { content: text }, finish_reason: finish }] }));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += String(part);
  return text;
}

interface Seen {
  readonly helper: string;
  readonly main: string;
  readonly state: string;
}

/** What both seats see in the second turn. */
async function seen(context: object = {}): Promise<Seen> {
  const expert = { provider: "compatible", model: "wise", baseUrl, keyVariable: "TEST_EXPERT_KEY" };
  const environment = smallEnvironment({
    feedback: "expert",
    expert,
    originalPrompt: false,
    previousResponse: false,
  });
  const start = await environment.start({ id: "small/squares" }, contextWith());
  const replies = { helper: plainReply(goodHelper), main: plainReply(poorMain) };
  const { state } = await environment.step(start, replies, { ...contextWith(), ...context });
  const next = environment.endTurn?.(state) ?? state;
  const see = (seat: string): string => environment.observe(next, seat) as string;
  return { helper: see("helper"), main: see("main"), state: JSON.stringify(state) };
}

const edits = JSON.stringify({ aux: "def aux(n):\n    return n ** 2\n", main: "" });

it("an expert is asked once by episodes that have the same question at the same time", async () => {
  let questions = 0;
  const expert = { edit: async () => ({ helper: null, main: `version ${++questions}` }) };
  const options = clientOptions.parse({ provider: "compatible", model: "wise", baseUrl: "http://nowhere" });
  const request = { prompt: "Add.", entryPoint: "add", program: "def add(): pass", hasHelper: false };
  const context = contextWith({ recorded: unrecordedCalls() });
  const asking = [1, 2, 3].map(() => editsOf(options, request, context, expert));
  expect((await Promise.all(asking)).map(({ main }) => main)).toEqual([
    "version 1",
    "version 1",
    "version 1",
  ]);
});

describe.runIf(works)("an expert", () => {
  it("sees the program and the problem, not the tests; each seat sees the edit of its part", async () => {
    answers = [[200, `Here: ${edits} Done.`]];
    const { helper, main, state } = await seen();
    expect(helper).toBe(
      "An expert's version of aux:\n\n```python\ndef aux(n):\n    return n ** 2\n```\n\nRevise aux accordingly.",
    );
    expect(main).toBe("Revise squares accordingly.");
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ url: "/v1/chat/completions", authorization: `Bearer ${secret}` });
    const question = asked[0]?.body.messages.map(({ content }) => content).join("\n") ?? "";
    expect(question).toContain("The sum of the squares.");
    expect(question).toContain("total = aux(len(numbers))");
    expect(question).not.toContain("assert");
    expect(state).not.toContain(secret);
  });

  it("is not asked the same question again, answered or not", async () => {
    const recorded = unrecordedCalls();
    const services = { sandbox, recorded };
    answers = [[200, edits]];
    const first = await seen({ services });
    expect(await seen({ services })).toEqual(first);
    expect(asked).toHaveLength(1);
  });

  it("that fails is no edit: the step fails, and may be tried again", async () => {
    const log = new ServiceLog();
    const services = { sandbox, recorded: unrecordedCalls(), log };
    answers = Array.from({ length: 3 }, () => [429, ""] as const);
    await expect(seen({ services })).rejects.toThrow(/expert wise .*answered with status 429/);
    expect(asked).toHaveLength(3);
    answers = [[200, edits]];
    expect((await seen({ services })).helper).toContain("return n ** 2");
    expect(log.named("expert").use).toMatchObject({ calls: 2, failures: 1, faults: 0, retries: 2 });
  });

  it("that writes nonsense is a counted fault: the turn continues without an edit", async () => {
    const log = new ServiceLog();
    const services = { sandbox, recorded: unrecordedCalls(), log };
    answers = Array.from({ length: 6 }, () => [200, "I would rather not."] as const);
    const first = await seen({ services });
    expect(first.helper).toBe("Revise aux accordingly.");
    expect(first.state).toContain("the expert's answer is no JSON object with edits");
    expect(log.named("expert").use).toMatchObject({ calls: 1, failures: 0, faults: 1, retries: 2 });
    // It is not recorded as an answer.
    await seen({ services });
    expect(asked).toHaveLength(6);
  });

  it("whose answer was cut off has made no edit, whatever it looks like", async () => {
    const log = new ServiceLog();
    answers = Array.from({ length: 3 }, () => [200, edits, "length"] as const);
    const { helper, state } = await seen({ services: { sandbox, recorded: unrecordedCalls(), log } });
    expect(helper).toBe("Revise aux accordingly.");
    expect(state).toContain("the expert's answer was cut off (expert.maxTokens is 2048)");
    expect(log.named("expert").use).toMatchObject({ calls: 1, faults: 1 });
  });

  it("may change nothing", async () => {
    const log = new ServiceLog();
    answers = [[200, JSON.stringify({ aux: "", main: "" })]];
    const { helper, state } = await seen({ services: { sandbox, recorded: unrecordedCalls(), log } });
    expect(helper).toBe("Revise aux accordingly.");
    expect(state).toContain('"fault":null');
    expect(log.named("expert").use).toMatchObject({ calls: 1, faults: 0 });
  });

  it("is not asked after the last turn", async () => {
    await seen({ isLastTurn: true });
    expect(asked).toEqual([]);
  });

  it("ends the run with a remedy if the key is missing or wrong", async () => {
    answers = [[401, ""]];
    await expect(seen()).rejects.toThrow(/does not accept the key in TEST_EXPERT_KEY \(401\)/);
    process.env["TEST_EXPERT_KEY"] = "";
    try {
      await expect(seen()).rejects.toThrow(/needs a key in TEST_EXPERT_KEY/);
    } finally {
      process.env["TEST_EXPERT_KEY"] = secret;
    }
  });
});

describe("readEdits", () => {
  it.each([
    [edits, "def aux(n):\n    return n ** 2\n", ""],
    ['{"main": "def f(): return {}"}', null, "def f(): return {}"],
    ['{"main": "a"} then {"aux": null, "main": "b"}', null, "b"],
    ['{"main": "a"} then {"aux": "", "main": " "}', null, "a"],
    ['```json\n{"aux": "x"}\n```', "x", null],
    ['{"aux": "", "main": " "}', "", " "],
  ])("%j", (text, helper, main) => {
    expect(readEdits(text)).toEqual({ helper, main });
  });

  it.each([
    "no edits",
    '{"main": "a", "main": "b"}',
    'Your {"main": "a"} should be {"main": "b',
    '{"main": 3}',
    "{}",
    '{"edits": "x"}',
    "{".repeat(5000) + "}".repeat(5000),
  ])("%j is no answer", (text) => {
    expect(readEdits(text)).toBeNull();
  });
});

/** The invalid keys. */
function faults(options: object): readonly string[] {
  return checkedOptions.safeParse(options).error?.issues.map(({ path }) => path.join(".")) ?? [];
}

describe("the option expert", () => {
  it("is required for expert_edits, and a compatible service needs an address", () => {
    expect(faults({ feedback: "expert_edits" })).toEqual(["expert"]);
    expect(faults({ feedback: "edits", expert: { provider: "deepseek", model: "deepseek-coder" } })).toEqual(
      [],
    );
    expect(faults({ expert: { provider: "compatible", model: "m" } })).toEqual(["expert.baseUrl"]);
    expect(faults({ expert: { provider: "other", model: "m" } })).toEqual(["expert.provider"]);
  });
});

it.each([
  ["claude-3-5-sonnet-20241022", "anthropic"],
  ["deepseek-coder", "deepseek"],
  ["gpt-4o", "openai"],
  ["o3-mini", "openai"],
  ["gemini-2.5-pro", "google"],
  ["qwen3-coder-flash", "dashscope"],
])("%s is an expert of %s", (model, provider) => {
  expect(expertNamed(model)).toEqual({ provider, model });
});

it("the published qwen3-coder is DashScope's qwen3-coder-plus", () => {
  expect(expertNamed("qwen3-coder")).toEqual({ provider: "dashscope", model: "qwen3-coder-plus" });
});

it("another name is an error with a remedy", () => {
  expect(() => expertNamed("wizard")).toThrow(/no provider is known for the expert wizard; .*compatible/);
});
