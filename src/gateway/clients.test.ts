/** The clients of the AI SDK, as programs use them, in every protocol. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  generateText,
  Output,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
} from "ai";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { SampleRequest } from "../engines/engine.ts";
import { rootKey } from "../random.ts";
import { Gateway, type OpenSession } from "./gateway.ts";
import { roleNamed, sampled, tokenizer } from "./testing/sampled.ts";

const gateway = new Gateway();
afterAll(() => gateway.close());

type Script = (prompt: string) => string;

function open(script: Script): Promise<OpenSession> {
  return gateway.open({
    roles: [roleNamed("solo", 4000)],
    sampling: { temperature: 1 },
    sample: async (request: SampleRequest) => sampled(request, script(tokenizer.decode(request.prompt))),
    turns: 20,
    key: rootKey(1),
  });
}

const clients: Readonly<Record<string, (session: OpenSession) => LanguageModel>> = {
  "chat completions, openai-compatible": ({ variables }) =>
    createOpenAICompatible({
      name: "x",
      baseURL: variables["OPENAI_BASE_URL"] ?? "",
      apiKey: variables["OPENAI_API_KEY"] ?? "",
    })("m"),
  "chat completions, openai": (session) => openai(session).chat("gpt-4o"),
  "responses, openai": (session) => openai(session).responses("gpt-4o"),
  "messages, anthropic": ({ variables }) =>
    createAnthropic({
      baseURL: `${variables["ANTHROPIC_BASE_URL"]}/v1`,
      apiKey: variables["ANTHROPIC_API_KEY"] ?? "",
    })("claude-sonnet-4-5"),
};

function openai({ variables }: OpenSession) {
  return createOpenAI({
    baseURL: variables["OPENAI_BASE_URL"] ?? "",
    apiKey: variables["OPENAI_API_KEY"] ?? "",
  });
}

const call = (city: string): string =>
  `<tool_call>\n{"name": "look", "arguments": {"city": "${city}"}}\n</tool_call>`;

/** Thinks, looks two cities up at once, then says what it found. */
const traveller: Script = (prompt) =>
  prompt.includes("rain in Oslo")
    ? "<think>\neasy\n</think>\n\nOslo is wet."
    : `<think>\nhm\n</think>\n\nI look.\n${call("Rome")}\n${call("Oslo")}`;

const look = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city === "Oslo" ? "rain" : "sun"} in ${city}`,
});

describe.each(Object.entries(clients))("%s", (_, client) => {
  it.each(["generateText", "streamText"])(
    "%s: tools, then the next question, on one chain of exact tokens",
    async (how) => {
      const session = await open(traveller);
      const ask = async (messages: ModelMessage[]) => {
        const asked = {
          model: client(session),
          system: "be kind",
          messages,
          tools: { look },
          stopWhen: stepCountIs(4),
        };
        if (how === "generateText") return generateText(asked);
        const streamed = streamText(asked);
        await streamed.consumeStream();
        const [text, responseMessages, usage] = await Promise.all([
          streamed.text,
          streamed.responseMessages,
          streamed.totalUsage,
        ]);
        return { text, responseMessages, usage };
      };
      const first = await ask([{ role: "user", content: "which is wet?" }]);
      expect(first.text).toBe("Oslo is wet.");
      expect(first.usage.inputTokens).toBeGreaterThan(10);
      const messages: ModelMessage[] = [
        { role: "user", content: "which is wet?" },
        ...first.responseMessages,
        { role: "user", content: "sure?" },
      ];
      await ask(messages);
      const replies = session.session.end();
      expect(replies).toHaveLength(3);
      expect(replies.flatMap(({ branch, masked }) => branch ?? masked ?? [])).toEqual([]);
      for (const [index, { prompt }] of replies.slice(1).entries()) {
        const { prompt: earlier = [], tokens = [] } = replies[index] ?? {};
        const known = [...earlier, ...tokens];
        expect(Array.from(prompt.slice(0, known.length))).toEqual(known);
      }
    },
  );

  it("structured output, which is checked", async () => {
    const session = await open((prompt) => (prompt.includes("schema") ? '{"city": "Rome"}' : "no schema"));
    const { output } = await generateText({
      model: client(session),
      prompt: "which city?",
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    expect(output).toEqual({ city: "Rome" });
  });

  it("errors that the client understands, without trying again", async () => {
    const session = await open(() => "x");
    session.session.end();
    const asked = generateText({ model: client(session), prompt: "late", maxRetries: 0 });
    await expect(asked).rejects.toMatchObject({ statusCode: 409, message: "The episode has ended." });
  });
});

it("a response names the one before it instead of repeating what was said", async () => {
  const opened = await open((prompt) => (prompt.includes("and then") ? "right" : "left"));
  const ask = async (
    body: object,
  ): Promise<{ id: string; output: readonly { content: readonly { text: string }[] }[] }> => {
    const response = await fetch(`${opened.variables["OPENAI_BASE_URL"]}/responses`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return (await response.json()) as Awaited<ReturnType<typeof ask>>;
  };
  const { id } = await ask({ instructions: "be brief", input: "where to" });
  const again = { instructions: "be brief", previous_response_id: id, input: "and then" };
  expect((await ask(again)).output[0]?.content[0]?.text).toBe("right");
  const [first, second] = opened.session.end();
  expect(second).toMatchObject({ added: [{ role: "user", content: "and then" }] });
  const known = [...(first?.prompt ?? []), ...(first?.tokens ?? [])];
  expect(Array.from(second?.prompt.slice(0, known.length) ?? [])).toEqual(known);
});
