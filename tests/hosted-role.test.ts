/** A role that a model of a service plays, against servers that speak the services' formats. */
/* oxlint-disable vitest/no-conditional-expect, unicorn/consistent-function-scoping */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { unrecordedCalls } from "../src/calls/recorded.ts";
import { ServiceLog } from "../src/calls/services.ts";
import { ServiceError } from "../src/errors.ts";
import { Gateway, type OpenSession } from "../src/gateway/gateway.ts";
import { rootKey } from "../src/random.ts";
import { recipeSchema } from "../src/recipes/schema.ts";
import { hostedRole } from "../src/rollout/hosted.ts";
import { readEpisodes } from "../src/rollout/stored.ts";
import { nodeOf } from "../src/rollout/navigate.ts";

const secret = "sk-secret-of-the-service";
const gateway = new Gateway();
let server: Server;
let address = "";

type Body = Readonly<Record<string, unknown>>;
interface Asked {
  readonly url: string;
  readonly body: Body;
}
const asked: Asked[] = [];
type Answer = { readonly status?: number; readonly body: object };
let answer: (asked: Asked) => Answer;

beforeAll(async () => {
  process.env["HOSTED_KEY"] = secret;
  server = createServer((request, response) => {
    const reply = async (): Promise<void> => {
      const one = { url: request.url ?? "", body: JSON.parse(await text(request)) as Body };
      asked.push(one);
      const { status = 200, body } = answer(one);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    reply().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
beforeEach(() => {
  asked.length = 0;
});
afterAll(async () => {
  delete process.env["HOSTED_KEY"];
  await gateway.close();
  server.closeAllConnections();
  server.close();
});

/** What a service says in its own format: text, or a call. */
const formats = {
  compatible: (said: string | { city: string }): object => ({
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "wise",
    choices: [
      {
        index: 0,
        message:
          typeof said === "string"
            ? { role: "assistant", content: said, reasoning_content: "so be it" }
            : { role: "assistant", content: null, tool_calls: [callOf(said)] },
        finish_reason: typeof said === "string" ? "stop" : "tool_calls",
      },
    ],
    usage: {
      prompt_tokens: 31,
      completion_tokens: 7,
      total_tokens: 38,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
  }),
  anthropic: (said: string | { city: string }): object => ({
    id: "1",
    type: "message",
    role: "assistant",
    model: "wise",
    content: [
      typeof said === "string"
        ? { type: "text", text: said }
        : { type: "tool_use", id: "call-9", name: "look", input: said },
    ],
    stop_reason: typeof said === "string" ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: { input_tokens: 26, cache_read_input_tokens: 5, output_tokens: 7 },
  }),
} as const;
type Provider = keyof typeof formats;

const callOf = (given: object) => ({
  id: "call-9",
  type: "function",
  function: { name: "look", arguments: JSON.stringify(given) },
});

interface Opened extends OpenSession {
  readonly log: ServiceLog;
}

const recorded = unrecordedCalls();

async function open(
  provider: Provider,
  { seed = 1, ...more }: { seed?: number; [option: string]: unknown } = {},
) {
  const { shape } = recipeSchema;
  const team = shape.team.parse({
    roles: {},
    hosted: { critic: { provider, model: "wise", baseUrl: address, keyVariable: "HOSTED_KEY", ...more } },
    turns: 9,
  });
  const log = new ServiceLog();
  const roles = Object.entries(team.hosted ?? {}).map(([name, role]) =>
    hostedRole({ name, ...role }, { recorded, log }),
  );
  const never = () => Promise.reject(new Error("no engine"));
  const opened = await gateway.open({
    roles,
    sampling: { temperature: 1 },
    sample: never,
    turns: 9,
    key: rootKey(seed),
  });
  return { ...opened, log } satisfies Opened;
}

let seeds = 10;
/** Nothing that was recorded before. */
const fresh = (provider: Provider = "compatible", more: object = {}) =>
  open(provider, { seed: seeds++, ...more });

async function send({ variables }: OpenSession, path: string, body: object): Promise<[number, Body]> {
  const response = await fetch(`${variables["OPENAI_BASE_URL"]}/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return [response.status, (await response.json()) as Body];
}

const hello = { messages: [{ role: "user", content: "hello" }] };
const schema = { type: "object", properties: { city: { type: "string" } } };
const parameters = schema;

/** One question with a tool in each protocol, and the words of its answer. */
const protocols: Readonly<Record<string, { readonly path: string; readonly body: object }>> = {
  chat: {
    path: "chat/completions",
    body: {
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "which is wet?" },
        { role: "assistant", content: "I look.", tool_calls: [callOf({ city: "Rome" })] },
        { role: "tool", tool_call_id: "call-9", content: "sun in Rome" },
      ],
      tools: [{ type: "function", function: { name: "look", description: "the weather", parameters } }],
      tool_choice: "required",
      max_tokens: 50,
      stop: ["STOP"],
    },
  },
  responses: {
    path: "responses",
    body: {
      instructions: "be brief",
      input: [
        { role: "user", content: "which is wet?" },
        { role: "assistant", content: "I look." },
        { type: "function_call", call_id: "call-9", name: "look", arguments: '{"city":"Rome"}' },
        { type: "function_call_output", call_id: "call-9", output: "sun in Rome" },
      ],
      tools: [{ type: "function", name: "look", description: "the weather", parameters }],
      tool_choice: "required",
      max_output_tokens: 50,
    },
  },
  messages: {
    path: "messages",
    body: {
      system: "be brief",
      messages: [
        { role: "user", content: "which is wet?" },
        {
          role: "assistant",
          content: [
            { type: "text", text: "I look." },
            { type: "tool_use", id: "call-9", name: "look", input: { city: "Rome" } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call-9", content: "sun in Rome" }] },
      ],
      tools: [{ name: "look", description: "the weather", input_schema: parameters }],
      tool_choice: { type: "any" },
      max_tokens: 50,
      stop_sequences: ["STOP"],
    },
  },
};

const pairs = Object.keys(protocols).flatMap((protocol) =>
  (["compatible", "anthropic"] as const).map((provider) => [protocol, provider] as const),
);

describe.each(pairs)("a program that speaks %s, and a service that speaks %s", (protocol, provider) => {
  const { path, body } = protocols[protocol] as { path: string; body: object };

  it("gets what was said, with messages, tools and choice passed on", async () => {
    answer = () => ({ body: formats[provider]("Oslo") });
    const opened = await fresh(provider);
    const [status, reply] = await send(opened, path, body);
    expect([status, JSON.stringify(reply)]).toEqual([200, expect.stringContaining('"Oslo"')]);
    expect(reply).not.toHaveProperty("warnings");
    expect(asked).toHaveLength(1);
    const sent = JSON.stringify(asked[0]?.body);
    for (const part of ["be brief", "which is wet?", "I look.", "sun in Rome", "call-9", "the weather"])
      expect(sent).toContain(part);
    expect(asked[0]?.body).toMatchObject({
      model: "wise",
      max_tokens: 50,
      tool_choice: provider === "anthropic" ? { type: "any" } : "required",
    });
    const [one] = opened.session.end();
    expect(one).toMatchObject({ role: "critic", policyVersion: null, reply: { text: "Oslo" } });
    expect([one?.prompt.length, one?.tokens.length, one?.logprobs.length]).toEqual([0, 0, 0]);
    // The service's own, in the form of the protocol.
    const thinking = provider === "compatible" ? 3 : 0;
    expect(reply["usage"]).toMatchObject(
      {
        chat: {
          prompt_tokens: 31,
          completion_tokens: 7,
          total_tokens: 38,
          prompt_tokens_details: { cached_tokens: 5 },
          completion_tokens_details: { reasoning_tokens: thinking },
        },
        responses: {
          input_tokens: 31,
          output_tokens: 7,
          input_tokens_details: { cached_tokens: 5 },
          output_tokens_details: { reasoning_tokens: thinking },
        },
        messages: { input_tokens: 26, output_tokens: 7, cache_read_input_tokens: 5 },
      }[protocol] as object,
    );
  });

  it("gets calls, with ids that it may answer", async () => {
    answer = () => ({ body: formats[provider]({ city: "Oslo" }) });
    const opened = await fresh(provider);
    const [status, reply] = await send(opened, path, body);
    expect([status, JSON.stringify(reply)]).toEqual([200, expect.stringContaining("call-9")]);
    expect(opened.session.end()[0]?.reply).toMatchObject({
      text: "",
      calls: [{ id: "call-9", name: "look", arguments: { city: "Oslo" } }],
    });
  });
});

it("a schema is the service's to obey, and the reply is checked all the same", async () => {
  answer = () => ({ body: formats.compatible("no JSON") });
  const opened = await fresh();
  const format = { type: "json_schema", json_schema: { name: "x", schema } };
  const [status, reply] = await send(opened, "chat/completions", { ...hello, response_format: format });
  expect([status, reply["warnings"]]).toEqual([200, ["the reply is not JSON"]]);
  expect(asked[0]?.body).toMatchObject({ response_format: { json_schema: { schema } } });
  expect(JSON.stringify(asked[0]?.body)).not.toContain("Answer with nothing but JSON");
});

it("streams in one piece, and has as many choices as asked for", async () => {
  answer = () => ({ body: formats.compatible(`said ${asked.length}`) });
  const opened = await fresh();
  const response = await fetch(`${opened.variables["OPENAI_BASE_URL"]}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ ...hello, n: 2, stream: true, stream_options: { include_usage: true } }),
  });
  const events = await response.text();
  expect(events).toContain('"reasoning_content":"so be it"');
  expect(events).toMatch(/"choices":\[\],"usage":\{"prompt_tokens":31,"completion_tokens":14/);
  expect(new Set(opened.session.end().map(({ reply }) => reply.text))).toEqual(new Set(["said 1", "said 2"]));
});

it("the system message of the recipe is that of requests without one", async () => {
  answer = () => ({ body: formats.compatible("yes") });
  const opened = await fresh("compatible", { prompt: "judge" });
  await send(opened, "chat/completions", hello);
  const own = { messages: [{ role: "system", content: "own" }, ...hello.messages] };
  await send(opened, "chat/completions", own);
  expect(asked.map(({ body }) => (body["messages"] as { content: string }[])[0]?.content)).toEqual([
    "judge",
    "own",
  ]);
});

describe("a service that fails", () => {
  it("rejects the request: the program is told, without the key, and the session goes on", async () => {
    answer = () => ({ status: 400, body: { error: { message: `too long, ${secret}` } } });
    const opened = await fresh();
    expect(await send(opened, "chat/completions", hello)).toEqual([
      400,
      {
        error: expect.objectContaining({
          code: "service_rejected_request",
          message: "The critic wise rejects the request: too long, [HOSTED_KEY]",
        }),
      },
    ]);
    expect(asked).toHaveLength(1);
    // Too many of them stop the run: what looks like a mistake of the program may be an account without credit.
    expect(opened.log.named("critic").use).toMatchObject({ calls: 1, faults: 1 });
    expect(opened.session.failing.aborted).toBe(false);
    answer = () => ({ body: formats.compatible("better") });
    expect((await send(opened, "chat/completions", { messages: [{ role: "user", content: "x" }] }))[0]).toBe(
      200,
    );
    expect(opened.session.end()).toHaveLength(1);
  });

  it("is asked again, then the episode fails: nothing of it is an answer", async () => {
    answer = () => ({ status: 503, body: { error: { message: secret } } });
    const opened = await fresh();
    const [status, reply] = await send(opened, "chat/completions", hello);
    expect([status, JSON.stringify(reply)]).toEqual([500, expect.stringContaining("sampling_failed")]);
    expect(asked).toHaveLength(3);
    expect(opened.session.failing.reason).toBeInstanceOf(ServiceError);
    expect(opened.session.end()).toEqual([]);
  });

  it("for a moment is no failure", async () => {
    answer = () => (asked.length === 1 ? { status: 429, body: {} } : { body: formats.compatible("at last") });
    const opened = await fresh();
    expect((await send(opened, "chat/completions", hello))[0]).toBe(200);
    expect(opened.log.named("critic").use).toMatchObject({ calls: 1, failures: 0, retries: 1 });
  });

  it("does not accept the key: a mistake of the user's ends the run", async () => {
    answer = () => ({ status: 401, body: {} });
    const opened = await fresh();
    expect((await send(opened, "chat/completions", hello))[0]).toBe(500);
    expect(opened.session.failing.reason).toMatchObject({ code: "bad_arguments" });
  });

  it("answers with something else: no reply is made of it", async () => {
    answer = () => ({ body: { choices: 3 } });
    const opened = await fresh();
    expect((await send(opened, "chat/completions", hello))[0]).toBe(500);
    expect(opened.session.failing.reason).toBeInstanceOf(ServiceError);
  });
});

it("the same place of a run finds the reply recorded; another place asks again", async () => {
  answer = () => ({ body: formats.compatible(`said ${asked.length}`) });
  const says = async (seed: number): Promise<string | undefined> => {
    const opened = await open("compatible", { seed });
    await send(opened, "chat/completions", hello);
    await send(opened, "chat/completions", hello);
    return opened.session
      .end()
      .map(({ reply }) => reply.text)
      .join();
  };
  expect([await says(1), await says(1), await says(2)]).toEqual([
    "said 1,said 2",
    "said 1,said 2",
    "said 3,said 4",
  ]);
  expect(asked).toHaveLength(4);
});

describe("a team with such a role", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-hosted-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "words.jsonl"), '"hot"\n"big"\n');
  writeFileSync(
    join(folder, "agents.mjs"),
    `const ask = async (role, content) => {
      const response = await fetch(process.env["OPENAI_BASE_URL_" + role] + "/chat/completions", {
        method: "POST",
        body: JSON.stringify({ messages: [{ role: "user", content }] }),
      });
      return (await response.json()).choices[0].message.content;
    };
    const word = await ask("WRITER", "opposite of " + JSON.parse(process.env.TROUPE_TASK));
    console.log((await ask("CRITIC", "is " + word + " the opposite")) === "yes" ? 1 : 0);`,
  );
  const recipe = (roles: string, hosted: string): string => `
name: hosted
environment:
  name: command
  run: [node, agents.mjs]
  dataset: { files: { train: words.jsonl, heldOut: words.jsonl } }
  words: [opposite, of, is, the, "no", ",", another, "yes", hot, cold, big, small]
team: { roles: ${roles}, hosted: ${hosted}, turns: 2 }
policies: { writer: { model: { preset: nano } } }
algorithm: { name: mas-grpo, samples: 3 }
train: { steps: 2, tasksPerStep: 2, learningRate: 0.0015 }
evaluation: { tasks: 2 }
checkpoint: { every: 1 }
record: { training: { perStep: all } }
engine: { threads: 1 }
`;
  const critic = () =>
    `{ critic: { provider: compatible, model: wise, baseUrl: "${address}", keyVariable: HOSTED_KEY } }`;
  const writer = "{ writer: { policy: writer, maxTokens: 1 } }";
  const command = (...args: readonly string[]) =>
    runCommand(args, { cwd: folder, env: { HOSTED_KEY: secret } });
  const train = (run: string, ...more: readonly string[]) =>
    command("train", "recipe.yaml", "--run", run, ...more);
  const metricsOf = (run: string) => readFileSync(join(folder, "runs", run, "metrics.jsonl"), "utf8");

  it("is trained without it: its actions have no tokens and no credit, and a resumed run asks for nothing twice", async () => {
    writeFileSync(join(folder, "recipe.yaml"), recipe(writer, critic()));
    answer = ({ body }) => {
      const { content } = (body["messages"] as { content: string }[]).at(-1) ?? { content: "" };
      return { body: formats.compatible(/is [a-h]/.test(content) ? "yes" : "no") };
    };
    expect(await train("whole")).toMatchObject({ code: 0 });
    const questions = asked.length;
    const steps = metricsOf("whole").trim().split("\n");
    expect(JSON.parse(steps[0] ?? "")).toMatchObject({
      policies: { writer: { optimizerSteps: 1 } },
      rollout: { roles: { critic: { actions: 6, truncated: 0 } }, episodes: 2 },
      services: { critic: { calls: 6 } },
    });
    const actions: unknown[] = [];
    for await (const { episode, credit } of readEpisodes(join(folder, "runs", "whole"), {
      from: "training",
    })) {
      for (const action of episode.actions) {
        const own = credit?.filter((one) => one.action === action.id) ?? [];
        if (action.role === "writer") expect(own).toHaveLength(1);
        else {
          actions.push([
            action.policy,
            action.policyVersion,
            action.frozen,
            action.tokens.length,
            own.length,
          ]);
          expect(["yes", "no"]).toContain(action.reply.text);
          const { observations } = nodeOf(episode, action.parent);
          expect(JSON.stringify(observations["critic"])).toContain("the opposite");
        }
      }
    }
    expect(actions).toEqual(Array.from({ length: 12 }, () => ["wise", null, true, 0, 0]));
    // A service that is gone in the second step stops the run, and when it is back the run ends as the other did.
    const says = answer;
    asked.length = 0;
    answer = (one) => (asked.length > 8 ? { status: 503, body: {} } : says(one));
    const gone = await train("resumed", "failures.retries=0");
    expect([gone.code, gone.stderr]).toEqual([
      1,
      expect.stringContaining("critic wise (compatible) answered with status 503"),
    ]);
    answer = says;
    expect(await train("resumed", "failures.retries=0")).toMatchObject({ code: 0 });
    expect(metricsOf("resumed")).toBe(metricsOf("whole"));
    const answered = readFileSync(join(folder, "runs", "resumed", "programs.jsonl"), "utf8")
      .trim()
      .split("\n");
    expect(answered).toHaveLength(questions);
    for (const args of [
      ["runs"],
      ["eval", "runs/whole", "--tasks", "2"],
      ["runs", "plot", "runs/whole"],
      ["runs", "export", "runs/whole", "--to", "tensorboard"],
      ["rescore", "runs/whole", "--training", "--algorithm", "grpo"],
    ])
      expect([args, await command(...args)]).toEqual([args, expect.objectContaining({ code: 0 })]);
    const kept = readFileSync(join(folder, "runs", "whole", "recipe.yaml"), "utf8");
    const everything = JSON.stringify([metricsOf("whole"), kept]);
    expect(everything).not.toContain(secret);
  });

  const both = () => critic().replace("{ critic:", "{ writer: { provider: openai, model: wise }, critic:");
  const nothing = "so nothing is trained; move a role from `hosted`";
  const noKey = "The critic wise needs a key in NO_SUCH_KEY: set it, or move critic from team.hosted";
  it.each<[string, () => string, string]>([
    [
      "with every role, learns nothing",
      () => recipe("{}", both()).replace(/^policies.*/m, "policies: {}"),
      nothing,
    ],
    [
      "with a role twice",
      () => recipe(writer, critic().replace("critic:", "writer:")),
      "another role of this name",
    ],
    ["without the key", () => recipe(writer, critic().replace("HOSTED_KEY", "NO_SUCH_KEY")), noKey],
  ])("is rejected: %s", async (_, written, problem) => {
    writeFileSync(join(folder, "other.yaml"), written());
    const { code, stderr } = await command("train", "other.yaml", "--run", "other");
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });

  it("needs a program that drives itself", async () => {
    const other = "team.hosted.other={provider: openai, model: wise}";
    const { code, stderr } = await command("train", "plan-path", "--dry-run", other);
    expect([code, stderr]).toEqual([2, expect.stringContaining("and plan-path is none")]);
  });
});
