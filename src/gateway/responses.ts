/** OpenAI responses. What a program names instead of repeating it, by the id of an item or of a response, is known. */
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
import { BadRequest, type RoleReply, type Said } from "./roles.ts";

const item = z.union([
  z.looseObject({
    type: z.literal("function_call"),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.looseObject({ type: z.literal("function_call_output"), call_id: z.string(), output: textContent }),
  z.looseObject({ type: z.literal("reasoning") }),
  z.looseObject({ type: z.literal("item_reference"), id: z.string() }),
  z.looseObject({
    type: z.literal("message").optional(),
    role: z.enum(["system", "developer", "user", "assistant"]),
    content: textContent,
  }),
]);

const tool = z.looseObject({
  type: z.literal("function", "only functions are supported"),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

const requestSchema = z.looseObject({
  model: z.string().default(""),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(item)]),
  previous_response_id: z.string().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.union([z.enum(["auto", "none", "required"]), z.looseObject({ name: z.string() })]).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  text: z
    .looseObject({
      format: z
        .looseObject({ type: z.string(), schema: z.record(z.string(), z.unknown()).optional() })
        .nullish(),
    })
    .nullish(),
});

type Find = (id: string) => Said | undefined;

function read(body: unknown, said: Find): Asked {
  const given = parsed(requestSchema, body);
  const { previous_response_id: previous, instructions, input } = given;
  const items = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  const messages = [...before(previous ?? null, said), ...joined(items, said)];
  if (messages.length === 0) throw new BadRequest("input: expected at least one message");
  if (messages.at(-1)?.role === "assistant")
    throw new BadRequest("input: the last message is the assistant's, and replies cannot be continued");
  const instructed =
    typeof instructions === "string"
      ? [{ role: "system" as const, content: instructions }, ...messages]
      : messages;
  const format = given.text?.format ?? { type: "text" };
  const schema = format.type === "text" ? undefined : schemaOf(format.schema ?? { type: "object" });
  const choice = given.tool_choice ?? "auto";
  return {
    model: given.model,
    messages: instructed,
    tools: choice === "none" ? [] : (given.tools ?? []).map(toolOf),
    maxTokens: given.max_output_tokens ?? undefined,
    stop: [],
    count: 1,
    isStreamed: given.stream === true,
    ...(choice === "auto" || choice === "none" ? {} : { toolChoice: choice }),
    sampling: optionsIn(given, ["temperature", "top_p", "top_logprobs"]),
    warnings: [],
    ...schema,
  };
}

/** The conversation up to a response, without its instructions, which do not carry over. */
function before(response: string | null, said: Find): readonly Message[] {
  if (response === null) return [];
  const found = said(response.replace(/^resp_/, ""));
  if (found === undefined) throw new BadRequest(`previous_response_id: there is no response ${response}`);
  return [...found.messages.filter(({ role }) => role !== "system"), found.reply];
}

/** Text and calls of one reply are items of their own; together they are one message. */
function joined(items: readonly z.output<typeof item>[], said: Find): readonly Message[] {
  const messages: Message[] = [];
  for (const next of items.flatMap((one) => messageOf(one, said))) {
    const last = messages.at(-1);
    if (next.role === "assistant" && last?.role === "assistant") {
      const calls = [...(last.calls ?? []), ...(next.calls ?? [])];
      const content = last.content + next.content;
      messages[messages.length - 1] = { ...last, content, ...(calls.length === 0 ? {} : { calls }) };
    } else messages.push(next);
  }
  return messages;
}

function messageOf(one: z.output<typeof item>, said: Find): readonly Message[] {
  switch (one.type) {
    case "reasoning":
      return []; // what was sampled is known
    case "function_call":
      return [
        {
          role: "assistant",
          content: "",
          calls: [{ id: one.call_id, name: one.name, arguments: argumentsIn(one.arguments) }],
        },
      ];
    case "function_call_output":
      return [{ role: "tool", content: one.output, callId: one.call_id }];
    case "item_reference":
      return referred(one.id, said);
    default:
      return [{ role: one.role === "developer" ? "system" : one.role, content: one.content }];
  }
}

/** `msg_REPLY`, `rs_REPLY` or `fc_REPLY_INDEX` */
function referred(id: string, said: Find): readonly Message[] {
  const [, kind, name = "", index] = /^(msg|rs|fc)_([^_]+)(?:_(\d+))?$/.exec(id) ?? [];
  const found = said(name);
  if (found === undefined) throw new BadRequest(`input: there is no item ${id}`);
  const { content, calls } = found.reply;
  if (kind === "msg") return [{ role: "assistant", content }];
  const call = kind === "fc" ? calls?.[Number(index)] : undefined;
  return call === undefined ? [] : [{ role: "assistant", content: "", calls: [call] }];
}

function toolOf({ name, description, parameters }: z.output<typeof tool>): Tool {
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    ...(parameters === undefined || parameters === null ? {} : { parameters }),
  };
}

function answer(asked: Asked, replies: readonly RoleReply[]): object {
  const [reply] = replies;
  const isWhole = reply?.stopReason !== "length";
  const { prompt, cached, written, thinking } = usageOf(replies);
  return {
    ...heading(asked, replies),
    status: isWhole ? "completed" : "incomplete",
    incomplete_details: isWhole ? null : { reason: "max_output_tokens" },
    output: reply === undefined ? [] : outputOf(reply),
    usage: {
      input_tokens: prompt,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: written,
      output_tokens_details: { reasoning_tokens: thinking },
      total_tokens: prompt + written,
    },
    ...warningsOf(asked, replies),
  };
}

function heading({ model }: Asked, replies: readonly RoleReply[]): object {
  return {
    id: `resp_${replies[0]?.id ?? ""}`,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    error: null,
    instructions: null,
    metadata: {},
    model,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
  };
}

type Output = { readonly type: string; readonly id: string } & Readonly<Record<string, unknown>>;

function outputOf({ id, reply: { text, thinking, calls = [] } }: RoleReply): readonly Output[] {
  const part = { type: "output_text", text, annotations: [], logprobs: [] };
  return [
    ...(thinking === undefined
      ? []
      : [{ type: "reasoning", id: `rs_${id}`, summary: [{ type: "summary_text", text: thinking }] }]),
    ...(text === "" && calls.length > 0
      ? []
      : [{ type: "message", id: `msg_${id}`, status: "completed", role: "assistant", content: [part] }]),
    ...calls.map((call, index) => ({
      type: "function_call",
      id: `fc_${id}_${index}`,
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.arguments),
      status: "completed",
    })),
  ];
}

/** The engine gives whole replies: each item is one piece. */
function events(asked: Asked, replies: readonly RoleReply[]): readonly Event[] {
  const whole = answer(asked, replies) as { readonly output: readonly Output[]; readonly status: string };
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  const plain: readonly Typed[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...whole.output.flatMap((one, index) => [
      { type: "response.output_item.added", output_index: index, item: emptied(one) },
      ...piecesOf(one, index),
      { type: "response.output_item.done", output_index: index, item: one },
    ]),
    { type: `response.${whole.status}`, response: whole },
  ];
  return plain.map((data, index) => ({ name: data.type, data: { ...data, sequence_number: index } }));
}

function emptied(one: Output): Output {
  if (one.type === "message") return { ...one, status: "in_progress", content: [] };
  if (one.type === "function_call") return { ...one, status: "in_progress", arguments: "" };
  return { ...one, summary: [] };
}

interface Typed {
  readonly type: string;
  readonly [key: string]: unknown;
}

function piecesOf(one: Output, output_index: number): readonly Typed[] {
  const at = { item_id: one.id, output_index };
  if (one.type === "function_call")
    return [
      { type: "response.function_call_arguments.delta", ...at, delta: one["arguments"] },
      { type: "response.function_call_arguments.done", ...at, arguments: one["arguments"] },
    ];
  const isMessage = one.type === "message";
  const [part] = (isMessage ? one["content"] : one["summary"]) as readonly { readonly text: string }[];
  const place = isMessage ? { ...at, content_index: 0 } : { ...at, summary_index: 0 };
  const [kind, text] = isMessage
    ? ["response.content_part", "response.output_text"]
    : ["response.reasoning_summary_part", "response.reasoning_summary_text"];
  return [
    { type: `${kind}.added`, ...place, part: { ...part, text: "" } },
    { type: `${text}.delta`, ...place, delta: part?.text, logprobs: [] },
    { type: `${text}.done`, ...place, text: part?.text, logprobs: [] },
    { type: `${kind}.done`, ...place, part },
  ];
}

export const responses: Protocol = {
  read,
  answer,
  events,
  error: openAiError,
};
