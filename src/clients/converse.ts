/** The next turn of a conversation, written by a model of a service, with the tools and the schema that a program asks for. */
import { Fault } from "../calls/call.ts";
import { redacting } from "../calls/secrets.ts";
import { ServiceError } from "../errors.ts";
import { showText } from "../format.ts";
import { jsonOrNull } from "../json.ts";
import { isObject } from "../text/files.ts";
import type { Message, Tool, ToolCall } from "../text/messages.ts";
import { countOf, failureOf, keyOf, nameOf, secretsOf, type Respondent } from "./ask.ts";
import { modelOf, type Model } from "./models.ts";
import type { ServiceModel } from "./options.ts";
import { type Exchange, guardedFetch } from "./transport.ts";

export interface TurnRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** Whether and which tool must be called. Absent: the model decides. */
  readonly toolChoice?: "required" | { readonly name: string } | undefined;
  /** JSON schema of the reply. Absent: it may be any text. */
  readonly schema?: object | undefined;
  readonly stop: readonly string[];
  readonly maxTokens: number;
  /** Absent: the service's own. */
  readonly temperature?: number | undefined;
}

/** Plain data, so that it can be recorded. */
export interface WrittenTurn {
  readonly text: string;
  /** Empty: none, or the service does not show it. */
  readonly thinking: string;
  readonly calls: readonly ToolCall[];
  /** It reached `maxTokens`. */
  readonly isCutOff: boolean;
  /** As the service counts; null: it does not say. */
  readonly usage: TurnUsage;
}

interface TurnUsage {
  readonly prompt: number | null;
  readonly cached: number | null;
  readonly written: number | null;
  readonly thinking: number | null;
}

/** The service rejected the request. The message says why, with the API key redacted. */
export class RejectedRequest extends Fault {}

const rejecting = [400, 413, 422];

/** @throws RejectedRequest; ServiceError if the service fails; TroupeError `bad_arguments` if the key is missing or not accepted */
export async function writtenTurn(
  options: ServiceModel,
  respondent: Respondent,
  { messages, tools, toolChoice, schema, stop, maxTokens, temperature }: TurnRequest,
  signal: AbortSignal,
): Promise<WrittenTurn> {
  const name = nameOf(options, respondent);
  const exchange: Exchange = { status: null, failure: null, rejectsKey: false, retryAfter: null };
  const model = await modelOf({
    options,
    key: keyOf(options, name, respondent),
    fetch: guardedFetch(exchange),
    sendsSchema: schema !== undefined,
  });
  const redact = redacting(secretsOf(options));
  // The SDK's own loop would take a model that ignores what it is asked for, such as to call a tool, for a failing service.
  const asking = model.doGenerate({
    prompt: messages.map((message, index) => promptMessage(message, messages.slice(0, index))),
    maxOutputTokens: maxTokens,
    abortSignal: AbortSignal.any([signal, AbortSignal.timeout(1000 * options.timeoutSeconds)]),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf), toolChoice: choiceOf(toolChoice) }),
    ...(stop.length === 0 ? {} : { stopSequences: [...stop] }),
    ...(schema === undefined ? {} : { responseFormat: { type: "json", schema } }),
    ...(temperature === undefined ? {} : { temperature }),
  });
  const { content, finishReason, usage } = await Promise.resolve(asking).catch((error: unknown) => {
    if (rejecting.includes(exchange.status ?? 0) && !exchange.rejectsKey)
      throw new RejectedRequest(`${name} rejects the request: ${redact(said(error))}`);
    throw failureOf(exchange, options, name);
  });
  if (finishReason.unified === "error") throw new ServiceError(`${name} broke off its answer.`);
  const { inputTokens, outputTokens } = usage;
  return redact({
    text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
    thinking: content.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
    calls: content.flatMap((part) => (part.type === "tool-call" ? callOf(part) : [])),
    isCutOff: finishReason.unified === "length",
    usage: {
      prompt: countOf(inputTokens.total),
      cached: countOf(inputTokens.cacheRead),
      written: countOf(outputTokens.total),
      thinking: countOf(outputTokens.reasoning),
    },
  });
}

type Options = Parameters<Model["doGenerate"]>[0];
type PromptMessage = Options["prompt"][number];

function choiceOf(choice: TurnRequest["toolChoice"]): Required<Options>["toolChoice"] {
  if (typeof choice === "object") return { type: "tool", toolName: choice.name };
  return { type: choice ?? "auto" };
}

const longestReason = 500;

function said(error: unknown): string {
  return showText(error instanceof Error ? error.message : String(error), longestReason);
}

function toolOf({ name, description, parameters = emptyObject }: Tool): Required<Options>["tools"][number] {
  const inputSchema = parameters as Extract<
    Required<Options>["tools"][number],
    { type: "function" }
  >["inputSchema"];
  return { type: "function", name, inputSchema, ...(description === undefined ? {} : { description }) };
}

const emptyObject = { type: "object", properties: {} };

/** What a service thought stays with it: most reject thinking that they have not signed. */
function promptMessage(
  { role, content, calls = [], callId = "", name }: Message,
  before: readonly Message[],
): PromptMessage {
  switch (role) {
    case "system":
      return { role, content };
    case "user":
      return { role, content: [{ type: "text", text: content }] };
    case "assistant":
      return {
        role,
        content: [
          ...(content === "" ? [] : [{ type: "text" as const, text: content }]),
          ...calls.map((call) => ({
            type: "tool-call" as const,
            toolCallId: call.id ?? "",
            toolName: call.name,
            input: call.arguments,
          })),
        ],
      };
    default: {
      const called = before.flatMap((message) => message.calls ?? []).find(({ id }) => id === callId);
      const toolName = called?.name ?? name ?? "unknown";
      const output = { type: "text", value: content } as const;
      return { role: "tool", content: [{ type: "tool-result", toolCallId: callId, toolName, output }] };
    }
  }
}

function callOf({
  toolCallId: id,
  toolName: name,
  input,
}: Record<"toolCallId" | "toolName" | "input", string>): ToolCall {
  const value = input.trim() === "" ? {} : jsonOrNull(input);
  if (isObject(value)) return { id, name, arguments: value };
  return { id, name, arguments: {}, error: `its arguments are no JSON object: ${input}` };
}
