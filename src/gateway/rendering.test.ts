/**
 * Prompts of real programs with the AI SDK, compared with what the chat template writes of the messages that the program
 * sent: rendered and encoded from the beginning by the libraries themselves, with nothing of src/text.
 */
/* oxlint-disable vitest/no-conditional-expect */
import { readFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as jinja from "@huggingface/jinja";
import { Tokenizer } from "@huggingface/tokenizers";
import { generateText, stepCountIs, streamText, tool, type LanguageModel, type ModelMessage } from "ai";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { z } from "zod";
import type { SampledSequence, SampleRequest } from "../engines/engine.ts";
import { rootKey } from "../random.ts";
import { fixtures, fixtureTokenizer } from "../text/testing/fixtures.ts";
import { Gateway } from "./gateway.ts";
import type { RoleReply } from "./roles.ts";

const gateway = new Gateway();
afterAll(() => gateway.close());

/** How each template begins and ends a turn of the model. */
const turns: Readonly<Record<string, readonly [string, string]>> = {
  qwen2: ["<|im_start|>assistant\n", "<|im_end|>"],
  qwen3: ["<|im_start|>assistant\n", "<|im_end|>"],
  llama3: ["<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"],
};

interface Sent {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly object[];
}

interface Renderer {
  render(given: object): string;
}

class Independent {
  readonly #tokenizer: { encode(text: string, options: object): { ids: number[] } };
  readonly #template: Renderer;
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #turn: readonly [open: readonly number[], close: number];

  constructor(style: string) {
    const read = (name: string) => readFileSync(`${fixtures}${style}/${name}`, "utf8");
    this.#config = JSON.parse(read("tokenizer_config.json")) as Record<string, unknown>;
    this.#tokenizer = new Tokenizer(JSON.parse(read("tokenizer.json")), this.#config);
    const source = (this.#config["chat_template"] as string | undefined) ?? read("chat_template.jinja");
    this.#template = new (jinja as unknown as { Template: new (source: string) => unknown }).Template(
      source,
    ) as Renderer;
    const [open, close] = turns[style] ?? ["", ""];
    this.#turn = [this.encode(open), this.encode(close)[0] ?? -1];
  }

  encode(text: string): readonly number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
  }

  prompt({ messages, tools }: Sent): readonly number[] {
    const special = Object.entries(this.#config).filter(
      ([name, value]) => name.endsWith("_token") && typeof value === "string",
    );
    const text = this.#template.render({
      ...Object.fromEntries(special),
      messages: messages.map(templateMessage),
      tools: tools ?? null,
      add_generation_prompt: true,
    });
    return this.encode(text);
  }

  /** What is between the turns of the model, and those turns. */
  parts(ids: readonly number[]): { readonly given: readonly number[][]; readonly said: readonly number[][] } {
    const [open, close] = this.#turn;
    const [given, said]: [number[][], number[][]] = [[[]], []];
    for (let at = 0; at < ids.length; at++) {
      given.at(-1)?.push(ids[at] as number);
      const isOpen =
        at + 1 >= open.length && open.every((id, index) => ids[at + 1 - open.length + index] === id);
      const end = isOpen ? ids.indexOf(close, at) : -1;
      if (end < 0) continue;
      said.push(ids.slice(at + 1, end));
      given.push([]);
      at = end - 1;
    }
    return { given, said };
  }
}

/** Reading a tokenizer takes a second. */
const known = new Map<string, Independent>();
function independentOf(style: string): Independent {
  const found = known.get(style) ?? new Independent(style);
  known.set(style, found);
  return found;
}

function templateMessage(message: Sent["messages"][number]): object {
  const calls = message["tool_calls"] as { function: { name: string; arguments: string } }[] | undefined;
  const whole = { ...message, content: message["content"] ?? "" };
  if (calls === undefined) return whole;
  const called = calls.map(({ function: { name, arguments: given } }) => ({
    function: { name, arguments: JSON.parse(given) as unknown },
  }));
  return { ...whole, tool_calls: called };
}

interface Played {
  readonly replies: readonly RoleReply[];
  readonly sent: readonly Sent[];
}

interface Model {
  readonly model: LanguageModel;
  /** The next call is not answered before it is freed. */
  hold(): Held;
  /** The next call is cut off on its way, so that the client tries again. */
  loseNext(): void;
}

interface Held {
  /** Resolves when the engine is asked. */
  readonly asked: Promise<void>;
  free(): void;
}

type Program = (model: Model) => Promise<void>;
type Spelling = "usual" | "odd";

/** Runs the program; the model writes what its script says, as the tokenizer would, or a token for each character. */
async function play(
  style: string,
  spelling: Spelling,
  program: Program,
  script: (asked: string) => string,
): Promise<Played> {
  const tokenizer = fixtureTokenizer(style);
  let held: Record<"asked" | "free", PromiseWithResolvers<void>> | null = null;
  const hold = (): Held => {
    const [asked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    held = { asked, free };
    return { asked: asked.promise, free: free.resolve };
  };
  const sample = async ({ prompt, count }: SampleRequest): Promise<SampledSequence[]> => {
    const own = held;
    held = null;
    own?.asked.resolve();
    await own?.free.promise;
    const text = script(tokenizer.decode(prompt));
    const parts = spelling === "usual" ? [text] : Array.from(text);
    const ids = parts.flatMap((part) => [...tokenizer.encode(part)]);
    const tokens = Int32Array.of(...ids, tokenizer.endTokens[0] ?? 0);
    const logprobs = new Float32Array(tokens.length).fill(-1);
    return Array.from({ length: count }, () => ({ tokens, logprobs, stopReason: "stop", policyVersion: 0 }));
  };
  const role = { name: "solo", policy: "p", tokenizer, maxLength: 8000, maxTokens: 400, stop: [] };
  const setting = { roles: [role], sampling: { temperature: 1 }, sample, turns: 90, key: rootKey(1) };
  const opened = await gateway.open(setting);
  const sent: Sent[] = [];
  let isLost = false;
  const model = createOpenAICompatible({
    name: "x",
    baseURL: opened.variables["OPENAI_BASE_URL"] ?? "",
    apiKey: opened.variables["OPENAI_API_KEY"] ?? "",
    fetch: async (input, init) => {
      sent.push(JSON.parse(init?.body as string) as Sent);
      if (!isLost) return fetch(input, init);
      isLost = false;
      const [stop, waiting] = [new AbortController(), hold()];
      const broken = fetch(input, { ...init, signal: stop.signal }).catch(() => null);
      await waiting.asked;
      stop.abort();
      await broken;
      // The server hears of it a moment later.
      await delay(250);
      waiting.free();
      throw Object.assign(new TypeError("fetch failed"), { cause: new Error("ECONNRESET") });
    },
  })("m");
  await program({ model, hold, loseNext: () => void (isLost = true) });
  return { replies: opened.session.end(), sent };
}

const look = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string(), days: z.number() }),
  execute: async ({ city, days }) => `${city}: rain for ${days} days`,
});

const call = (city: string): string =>
  `<tool_call>\n{"name": "look", "arguments": {"city": "${city}", "days": 3}}\n</tool_call>`;

/** A turn of a conversation, kept as the AI SDK gives it. */
async function turn(
  { model }: Model,
  messages: ModelMessage[],
  content: string,
  { tools = false, system = "be brief" }: { tools?: boolean; system?: string } = {},
): Promise<void> {
  messages.push({ role: "user", content });
  const more = tools ? { tools: { look }, stopWhen: stepCountIs(3) } : {};
  const { responseMessages } = await generateText({ model, system, messages, ...more });
  messages.push(...responseMessages);
}

const programs: Readonly<Record<string, (tools: boolean) => Program>> = {
  "interleaved sub-agents of one role": (tools) => async (model) => {
    const agent = async (name: string): Promise<void> => {
      const messages: ModelMessage[] = [];
      for (const question of [`${name}?`, "sure?", "why?"])
        await turn(model, messages, question, { tools, system: `you are ${name}` });
    };
    await Promise.all(["Rome", "Oslo", "Bonn"].map(agent));
  },
  "one that rewrites its history": (tools) => async (model) => {
    const messages: ModelMessage[] = [];
    for (const question of ["one", "two", "three"]) await turn(model, messages, question, { tools });
    const compacted: ModelMessage[] = [
      { role: "user", content: "So far: one, two, three." },
      ...messages.filter(({ role, content }) => role === "assistant" && content !== "").slice(-1),
    ];
    for (const question of ["four", "five"]) await turn(model, compacted, question, { tools });
  },
  "one that streams and aborts midway": (tools) => async (model) => {
    const messages: ModelMessage[] = [];
    await turn(model, messages, "one", { tools });
    const [stop, held] = [new AbortController(), model.hold()];
    const asked: ModelMessage[] = [...messages, { role: "user", content: "never mind" }];
    const stream = streamText({
      model: model.model,
      system: "be brief",
      messages: asked,
      abortSignal: stop.signal,
      onError: () => {},
      ...(tools ? { tools: { look } } : {}),
    });
    const read = stream.consumeStream();
    await held.asked;
    stop.abort();
    await read;
    await delay(250);
    held.free();
    await turn(model, messages, "two", { tools });
  },
  "one whose answers are lost on their way, and which tries again": (tools) => async (model) => {
    const messages: ModelMessage[] = [];
    await turn(model, messages, "one", { tools });
    model.loseNext();
    await turn(model, messages, "two", { tools });
    await turn(model, messages, "three", { tools });
  },
};

/** Says what it was asked last; with tools it looks first. */
const answering =
  (thinks: boolean, tools: boolean) =>
  (asked: string): string => {
    const last = asked.trimEnd().split("\n").slice(-40).join("\n");
    const thought = thinks ? "<think>\nhm, so\n</think>\n\n" : "";
    const isAnswered = last.includes("tool_response") && /tool_response>[^?]*$/.test(last);
    return `${thought}${tools && !isAnswered ? `I look.\n${call("Oslo")}` : `It's ${asked.length} — fine.`}`;
  };

type Case = readonly [
  style: string,
  spelling: Spelling,
  program: string,
  { readonly tools: boolean; readonly thinks: boolean },
];

const cases = ["qwen2", "qwen3", "llama3"].flatMap((style) =>
  (["usual", "odd"] as const).flatMap((spelling) =>
    Object.keys(programs).flatMap((program): readonly Case[] => {
      const [plain, thinking] = [
        { tools: style === "qwen3", thinks: false },
        { tools: true, thinks: true },
      ];
      const own: Case = [style, spelling, program, plain];
      return style === "qwen3" ? [own, [style, spelling, program, thinking]] : [own];
    }),
  ),
);

// Each waits for what it loses on the way.
it.concurrent.each(cases)(
  "%s, spelled %s, %s, %o: the prompts are those of the template, but for what the model wrote itself",
  async (style, spelling, program, { tools, thinks }) => {
    const independent = independentOf(style);
    const { replies, sent } = await play(
      style,
      spelling,
      (programs[program] as (tools: boolean) => Program)(tools),
      answering(thinks, tools),
    );
    expect(replies.length).toBeGreaterThan(2);
    const sampled = new Set(replies.map(({ tokens }) => Array.from(tokens.slice(0, -1)).join()));
    const rendered = sent.map((one) => independent.prompt(one));
    const seen = new Set<number>();
    for (const { prompt, branch } of replies) {
      const own = independent.parts([...prompt]);
      const equal = rendered.findIndex((ids, index) => {
        const other = independent.parts(ids);
        const isSame = JSON.stringify(own.given) === JSON.stringify(other.given);
        // What differs inside a turn of the model is exactly what was sampled.
        return (
          !seen.has(index) &&
          isSame &&
          own.said.every((said, at) => said.join() === other.said[at]?.join() || sampled.has(said.join()))
        );
      });
      expect(equal, `a prompt like ${String(branch)} ${own.given.length}`).toBeGreaterThanOrEqual(0);
      seen.add(equal);
      if (spelling === "usual" && !thinks) expect([...prompt]).toEqual(rendered[equal]);
    }
    // Nothing that was sampled is encoded again, but in a history that was rewritten.
    for (const { prompt } of program.includes("rewrites") ? [] : replies) {
      const { said } = independent.parts([...prompt]);
      expect(said.filter((one) => !sampled.has(one.join()))).toEqual([]);
    }
    const reasons = replies.flatMap(({ branch, masked }) => branch ?? masked ?? []);
    const expected = [
      ...(program.includes("rewrites") ? ["earlier messages changed"] : []),
      ...(program.includes("aborts") ? ["the program did not get the answer"] : []),
    ];
    expect(new Set(reasons)).toEqual(new Set(expected));
    // What was sent twice because its answer was lost was sampled once.
    if (program.includes("lost")) expect(sent.length).toBe(replies.length + 1);
  },
);
