/** OpenAI chat completions. */
import { z } from "zod";
import type { Message, Tool } from "../text/tokenizer.ts";
import {
  argumentsIn,
  optionsIn,
  parsed,
  schemaOf,
  textContent,
  usageOf,
  warningsOf,
  type Asked,
  type Event,
  type Protocol,
  openAiError,
} from "./asked.ts";
import { BadRequest, type RoleReply } from "./roles.ts";
import { answerIdOf } from "./session.ts";

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer", "user"]), content: textContent }),
  z.looseObject({
    role: z.literal("assistant"),
    content: textContent.nullish(),
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.looseObject({
    role: z.literal("tool"),
    content: textContent,
    tool_call_id: z.string(),
    name: z.string().nullish(),
  }),
]);

const tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

const namedTool = z.looseObject({ function: z.looseObject({ name: z.string() }) });

const limit = z.int().min(1).nullish();

const requestSchema = z.looseObject({
  model: z.string().default(""),
  messages: z.array(message).min(1, "expected at least one message"),
  tools: z.array(tool).nullish(),
  tool_choice: z.union([z.enum(["auto", "none", "required"]), namedTool]).nullish(),
  max_tokens: limit,
  max_completion_tokens: limit,
  stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
  n: z.int().min(1).max(128).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  response_format: z
    .discriminatedUnion("type", [
      z.looseObject({ type: z.literal("text") }),
      z.looseObject({ type: z.literal("json_object") }),
      z.looseObject({
        type: z.literal("json_schema"),
        json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()).optional() }),
      }),
    ])
    .nullish(),
});

const samplingOptions = (
  "temperature top_p top_k min_p seed logit_bias logprobs top_logprobs frequency_penalty presence_penalty " +
  "reasoning_effort"
).split(" ");

function read(body: unknown): Asked {
  const given = parsed(requestSchema, body);
  const messages = given.messages.map(messageOf);
  if (messages.at(-1)?.role === "assistant")
    throw new BadRequest("messages: the last one is the assistant's, and replies cannot be continued");
  const choice = given.tool_choice ?? "auto";
  const format = given.response_format ?? { type: "text" };
  const schema = format.type === "text" ? undefined : schemaOf(schemaIn(format));
  return {
    model: given.model,
    messages,
    tools: choice === "none" ? [] : (given.tools ?? []).map(toolOf),
    maxTokens: given.max_completion_tokens ?? given.max_tokens ?? undefined,
    stop: [given.stop ?? []].flat().filter((text) => text !== ""),
    count: given.n ?? 1,
    isStreamed: given.stream === true,
    hasUsageChunk: given.stream_options?.include_usage === true,
    toolChoice: forced(choice),
    sampling: optionsIn(given, samplingOptions),
    warnings: [],
    ...schema,
  };
}

function forced(choice: "auto" | "none" | "required" | z.output<typeof namedTool>): Asked["toolChoice"] {
  if (choice === "auto" || choice === "none") return undefined;
  return choice === "required" ? choice : { name: choice.function.name };
}

function schemaIn(
  format: { type: "json_object" } | { type: "json_schema"; json_schema: { schema?: object | undefined } },
): object {
  return (format.type === "json_schema" ? format.json_schema.schema : undefined) ?? { type: "object" };
}

function messageOf(given: z.output<typeof message>): Message {
  const content = given.content ?? "";
  if (given.role === "tool") {
    const name = given.name ?? undefined;
    return { role: "tool", content, callId: given.tool_call_id, ...(name === undefined ? {} : { name }) };
  }
  if (given.role !== "assistant")
    return { role: given.role === "developer" ? "system" : given.role, content };
  const thinking = given.reasoning_content ?? given.reasoning ?? undefined;
  const calls = (given.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => {
    return { id, name, arguments: argumentsIn(text) };
  });
  return {
    role: "assistant",
    content,
    ...(thinking === undefined ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { calls }),
  };
}

function toolOf({ function: { name, description, parameters } }: z.output<typeof tool>): Tool {
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    ...(parameters === undefined || parameters === null ? {} : { parameters }),
  };
}

function answer(asked: Asked, replies: readonly RoleReply[]): object {
  return {
    ...heading(asked, replies, "chat.completion"),
    choices: replies.map((reply, index) => ({
      index,
      message: { role: "assistant", refusal: null, ...contentOf(reply) },
      logprobs: logprobsOf(reply),
      finish_reason: finishReason(reply),
    })),
    usage: shownUsage(replies),
    ...warningsOf(asked, replies),
  };
}

function heading({ model }: Asked, replies: readonly RoleReply[], object: string): object {
  const id = `chatcmpl-${answerIdOf(replies[0]?.id ?? "")}`;
  return { id, object, created: Math.floor(Date.now() / 1000), model };
}

function contentOf({ reply: { text, thinking, calls } }: RoleReply): object {
  return {
    content: text === "" && calls !== undefined ? null : text,
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(calls === undefined
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: given }) => ({
            id,
            type: "function",
            function: { name, arguments: JSON.stringify(given) },
          })),
        }),
  };
}

function logprobsOf({ pieces }: RoleReply): object | null {
  const content = pieces?.map(({ bytes, logprob }) => {
    return { token: Buffer.from(bytes).toString("utf8"), bytes: [...bytes], logprob, top_logprobs: [] };
  });
  return content === undefined ? null : { content, refusal: null };
}

function finishReason({ reply: { calls }, stopReason }: RoleReply): string {
  if (stopReason === "length") return "length";
  return calls === undefined ? "stop" : "tool_calls";
}

function shownUsage(replies: readonly RoleReply[]): object {
  const { prompt, cached, written, thinking } = usageOf(replies);
  return {
    prompt_tokens: prompt,
    completion_tokens: written,
    total_tokens: prompt + written,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: thinking, audio_tokens: 0 },
  };
}

/**
 * The engine gives whole replies: each is one piece. A client that asks for the usage gets it in a chunk of its own, as from
 * OpenAI, and only there, because some add up what they find; others get it with the end, where all understand it.
 */
function events(asked: Asked, replies: readonly RoleReply[]): readonly Event[] {
  const head = heading(asked, replies, "chat.completion.chunk");
  const usage = shownUsage(replies);
  const own = asked.hasUsageChunk === true ? { usage: null } : {};
  const chunk = (index: number, delta: object, choice: object, more: object = {}): Event => ({
    data: {
      ...head,
      choices: [{ index, delta, logprobs: null, finish_reason: null, ...choice }],
      ...own,
      ...more,
    },
  });
  return [
    ...replies.flatMap((reply, index) => {
      const { tool_calls: calls, ...content } = contentOf(reply) as { tool_calls?: readonly object[] };
      const delta =
        calls === undefined ? {} : { tool_calls: calls.map((call, at) => ({ index: at, ...call })) };
      const isLast = index === replies.length - 1;
      return [
        chunk(index, { role: "assistant", ...content, ...delta }, { logprobs: logprobsOf(reply) }),
        chunk(
          index,
          {},
          { finish_reason: finishReason(reply) },
          {
            ...(isLast && asked.hasUsageChunk !== true ? { usage } : {}),
            ...warningsOf(asked, [reply]),
          },
        ),
      ];
    }),
    ...(asked.hasUsageChunk === true ? [{ data: { ...head, choices: [], usage } }] : []),
    { data: "[DONE]" },
  ];
}

export const chatCompletions: Protocol = {
  read,
  answer,
  events,
  error: openAiError,
};
