/** Anthropic messages. */
import { z } from "zod";
import type { Message } from "../text/tokenizer.ts";
import {
  optionsIn,
  parsed,
  schemaOf,
  textContent,
  usageOf,
  warningsOf,
  type Asked,
  type Event,
  type Protocol,
} from "./asked.ts";
import { BadRequest, type RoleReply } from "./roles.ts";

const block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("thinking"), thinking: z.string() }),
  z.looseObject({ type: z.literal("redacted_thinking") }),
  z.looseObject({
    type: z.literal("tool_use"),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.looseObject({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    content: textContent.nullish(),
  }),
]);

type Block = z.output<typeof block>;

const message = z.looseObject({
  role: z.enum(["user", "assistant"]),
  content: z.union([z.string(), z.array(block)]),
});

const tool = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()).nullish(),
});

const formatSchema = z.looseObject({
  type: z.literal("json_schema"),
  schema: z.record(z.string(), z.unknown()),
});

const toolChoice = z.discriminatedUnion("type", [
  z.looseObject({ type: z.enum(["auto", "none", "any"]) }),
  z.looseObject({ type: z.literal("tool"), name: z.string() }),
]);

const requestSchema = z.looseObject({
  model: z.string().default(""),
  max_tokens: z.int().min(1),
  system: textContent.nullish(),
  messages: z.array(message).min(1, "expected at least one message"),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  stop_sequences: z.array(z.string()).max(16).nullish(),
  stream: z.boolean().nullish(),
  output_config: z.looseObject({ format: formatSchema.nullish() }).nullish(),
  output_format: formatSchema.nullish(),
});

function read(body: unknown): Asked {
  const given = parsed(requestSchema, body);
  if (given.messages.at(-1)?.role === "assistant")
    throw new BadRequest("messages: the last one is the assistant's, and replies cannot be continued");
  const { system } = given;
  const format = given.output_config?.format ?? given.output_format ?? undefined;
  const schema = format === undefined ? undefined : schemaOf(format.schema);
  const choice = given.tool_choice?.type ?? "auto";
  const messages: readonly Message[] = [
    ...(typeof system === "string" && system !== "" ? [{ role: "system" as const, content: system }] : []),
    ...given.messages.flatMap(({ role, content }) =>
      messagesOf(role, typeof content === "string" ? [{ type: "text", text: content }] : content),
    ),
  ];
  return {
    model: given.model,
    messages,
    tools: (choice === "none" ? [] : (given.tools ?? [])).map(
      ({ name, description, input_schema: parameters }) => ({
        name,
        ...(typeof description === "string" ? { description } : {}),
        ...(parameters === undefined || parameters === null ? {} : { parameters }),
      }),
    ),
    maxTokens: given.max_tokens,
    stop: (given.stop_sequences ?? []).filter((text) => text !== ""),
    count: 1,
    isStreamed: given.stream === true,
    ...forced(given.tool_choice ?? { type: "auto" }),
    sampling: optionsIn(given, ["temperature", "top_p", "top_k", "thinking"]),
    warnings: [],
    ...schema,
  };
}

function forced(choice: z.output<typeof toolChoice>): Pick<Asked, "toolChoice"> {
  if (choice.type === "tool") return { toolChoice: { name: choice.name } };
  return choice.type === "any" ? { toolChoice: "required" } : {};
}

/** Answers of tools are messages of their own. */
function messagesOf(role: "user" | "assistant", blocks: readonly Block[]): readonly Message[] {
  const text = blocks.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("");
  if (role === "assistant") {
    const thinking = blocks.flatMap((one) => (one.type === "thinking" ? [one.thinking] : [])).join("\n");
    const calls = blocks.flatMap((one) =>
      one.type === "tool_use" ? [{ id: one.id, name: one.name, arguments: one.input }] : [],
    );
    return [
      {
        role,
        content: text,
        ...(thinking === "" ? {} : { thinking }),
        ...(calls.length === 0 ? {} : { calls }),
      },
    ];
  }
  const answers = blocks.flatMap((one): Message[] =>
    one.type === "tool_result" ? [{ role: "tool", content: one.content ?? "", callId: one.tool_use_id }] : [],
  );
  return answers.length > 0 && text === "" ? answers : [...answers, { role, content: text }];
}

function answer(asked: Asked, replies: readonly RoleReply[]): object {
  const [reply] = replies;
  return {
    ...heading(asked, replies),
    content: reply === undefined ? [] : contentOf(reply),
    ...endOf(reply),
    ...warningsOf(asked, replies),
  };
}

function heading({ model }: Asked, replies: readonly RoleReply[]): object {
  const { prompt, cached, written } = usageOf(replies);
  return {
    id: `msg_${replies[0]?.id ?? ""}`,
    type: "message",
    role: "assistant",
    model,
    usage: {
      input_tokens: prompt - cached,
      output_tokens: written,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
    },
  };
}

type Content =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tool_use";
      readonly id: string | undefined;
      readonly name: string;
      readonly input: object;
    };

function contentOf({ reply: { text, thinking, calls = [] } }: RoleReply): readonly Content[] {
  return [
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "" } as const]),
    ...(text === "" && calls.length > 0 ? [] : [{ type: "text", text } as const]),
    ...calls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id, name, input }) as const),
  ];
}

function endOf(reply: RoleReply | undefined): object {
  const called = reply?.reply.calls === undefined ? "end_turn" : "tool_use";
  return { stop_reason: reply?.stopReason === "length" ? "max_tokens" : called, stop_sequence: null };
}

/** The engine gives whole replies: each block is one piece. */
function events(asked: Asked, replies: readonly RoleReply[]): readonly Event[] {
  const [reply] = replies;
  const begun = { ...heading(asked, replies), content: [], stop_reason: null, stop_sequence: null };
  const blocks = reply === undefined ? [] : contentOf(reply);
  return [
    event("message_start", { message: begun }),
    ...blocks.flatMap((one, index) => {
      const [empty, delta] = piecesOf(one);
      return [
        event("content_block_start", { index, content_block: empty }),
        event("content_block_delta", { index, delta }),
        event("content_block_stop", { index }),
      ];
    }),
    event("message_delta", {
      delta: endOf(reply),
      usage: { output_tokens: usageOf(replies).written },
      ...warningsOf(asked, replies),
    }),
    event("message_stop", {}),
  ];
}

function event(name: string, data: object): Event {
  return { name, data: { type: name, ...data } };
}

/** A block as it begins, and what is added to it. */
function piecesOf(one: Content): readonly [object, object] {
  if (one.type === "text")
    return [
      { ...one, text: "" },
      { type: "text_delta", text: one.text },
    ];
  if (one.type === "thinking")
    return [
      { ...one, thinking: "" },
      { type: "thinking_delta", thinking: one.thinking },
    ];
  return [
    { ...one, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(one.input) },
  ];
}

export const messages: Protocol = {
  read,
  answer,
  events,
  error: ({ message: text, status }) => ({
    type: "error",
    error: {
      type: errorTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
      message: text,
    },
  }),
};

const errorTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
};
