/** A question to a model of a service, through the AI SDK, which knows the services' formats. Loaded with the first question. */
import type { Output } from "ai";
import { redacting } from "../calls/secrets.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import { checkInstalled, modelOf } from "./models.ts";
import type { ClientOptions, ServiceModel } from "./options.ts";
import { keyVariableOf } from "./providers.ts";
import { type Exchange, guardedFetch } from "./transport.ts";

export interface ChatMessage {
  readonly role: "system" | "user";
  readonly content: string;
}

/** What messages call the model. */
export interface Respondent {
  /** `expert` */
  readonly role: string;
  /** What to do without a key: "choose another feedback than expert_edits". */
  readonly alternative: string;
}

export interface Question<T> {
  readonly messages: readonly ChatMessage[];
  /** What the answer must be. Default: text. */
  readonly format?: AnswerFormat;
  /** Parses the answer as the service wrote it; in JSON format it may still be anything. */
  readonly read: (text: string) => T;
}

/** JSON; with a schema if the service is sent one. */
export interface AnswerFormat {
  readonly schema: object | null;
}

export interface ServiceAnswer<T> {
  /** What was read. The key is redacted in every text in it, after it was parsed: a key may be a word of the format. */
  readonly value: T;
  /** Length of the answer. */
  readonly characters: number;
  /** What ended it before its end; null: nothing. */
  readonly cutOff: "maxTokens" | "service" | null;
  /** As the service counts; null: it does not say. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** The service got the question, and may charge for it, but there is no whole answer that can be read. */
export class LostAnswer extends ServiceError {}

/**
 * Error messages never quote the service, which may repeat the key.
 * @throws ServiceError if the service fails, LostAnswer if it may charge all the same; TroupeError `bad_arguments` if the key is missing or not accepted
 */
export async function askService<T>(
  options: ClientOptions,
  respondent: Respondent,
  { messages, format, read }: Question<T>,
  signal: AbortSignal,
): Promise<ServiceAnswer<T>> {
  const { temperature, maxTokens, timeoutSeconds } = options;
  const name = nameOf(options, respondent);
  const key = keyOf(options, name, respondent);
  const exchange: Exchange = { status: null, failure: null, rejectsKey: false, retryAfter: null };
  const { generateText } = await sdk();
  const sendsSchema = format !== undefined && format.schema !== null;
  const model = await modelOf({ options, key, fetch: guardedFetch(exchange), sendsSchema });
  // Loading the SDK takes a while, too.
  const timeout = AbortSignal.timeout(1000 * timeoutSeconds);
  const abortSignal = AbortSignal.any([signal, timeout]);
  const asking = generateText({
    model,
    instructions: textOf(messages, "system"),
    prompt: textOf(messages, "user"),
    temperature,
    maxOutputTokens: maxTokens,
    // The caller retries.
    maxRetries: 0,
    abortSignal,
    ...(format === undefined ? {} : { output: inFormat(format) }),
  });
  const {
    text,
    usage,
    finishReason,
    rawFinishReason = "",
  } = await asking.catch(() => {
    const failure = failureOf(exchange, options, name);
    const isLost = isAccepted(exchange) || (timeout.aborted && exchange.status === null);
    throw isLost && failure instanceof ServiceError ? new LostAnswer(failure.message) : failure;
  });
  return {
    value: redacting(secretsOf(options))(read(text)),
    characters: text.length,
    cutOff: cutOffBy[finishReason] ?? (/length|max_?tokens/i.test(rawFinishReason) ? "maxTokens" : null),
    inputTokens: countOf(usage.inputTokens),
    outputTokens: countOf(usage.outputTokens),
  };
}

/** Services that say nothing of the kind are believed: an answer without its end is then noticed by whoever reads it. */
const cutOffBy: Readonly<Record<string, ServiceAnswer<unknown>["cutOff"]>> = {
  length: "maxTokens",
  "content-filter": "service",
  error: "service",
};

export function secretsOf(options: ServiceModel): readonly string[] {
  const variable = keyVariableOf(options);
  return variable === undefined ? [] : [variable];
}

/** Null: the service does not say, or nothing that a budget could count. */
export function countOf(tokens: number | undefined): number | null {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
}

async function sdk(): Promise<typeof import("ai")> {
  // It would print warnings about settings that a model ignores.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return import("ai");
}

/** Requests the format; the answer is parsed by the caller, more strictly than the SDK would. */
function inFormat({ schema }: AnswerFormat): Output.Output<string, string, never> {
  const sent = schema === null ? {} : { schema };
  return {
    name: "answer",
    responseFormat: Promise.resolve({ type: "json", ...sent }),
    parseCompleteOutput: async ({ text }) => text,
    parsePartialOutput: async () => undefined,
    createElementStreamTransform: () => undefined,
  };
}

function textOf(messages: readonly ChatMessage[], wanted: ChatMessage["role"]): string {
  const parts = messages.filter(({ role }) => role === wanted);
  return parts.map(({ content }) => content).join("\n\n");
}

function isAccepted({ status }: Exchange): boolean {
  return status !== null && status >= 200 && status <= 299;
}

export function failureOf(exchange: Exchange, options: ServiceModel, model: string): TroupeError {
  const { status, failure, rejectsKey, retryAfter } = exchange;
  const name = `${model} (${options.provider})`;
  const asksToWait = retryAfter === null ? {} : { retryAfter };
  if (failure !== null) return new ServiceError(`${name} ${failure}.`);
  if (status === null) return new ServiceError(`${name} cannot be asked${credentialsOf(options)}.`);
  if (rejectsKey) {
    const variable = keyVariableOf(options);
    const problem =
      variable === undefined
        ? `${name} answered ${status}, and no key was sent. Put one in a variable and name it in \`keyVariable\`.`
        : `${name} does not accept the key in ${variable} (${status}): set the right one.`;
    return new TroupeError("bad_arguments", problem);
  }
  return new ServiceError(
    isAccepted(exchange)
      ? `${name} gave an answer that cannot be read.`
      : `${name} answered with status ${status}.`,
    asksToWait,
  );
}

/** @throws TroupeError `bad_arguments` if the key, or the package that asks, is missing */
export function checkKey(options: ServiceModel, respondent: Respondent): void {
  checkInstalled(options.provider);
  keyOf(options, nameOf(options, respondent), respondent);
}

export function nameOf({ model }: ServiceModel, { role }: Respondent): string {
  return `The ${role} ${model}`;
}

function credentialsOf(options: ServiceModel): string {
  if (options.provider !== "vertex" || keyVariableOf(options) !== undefined) return "";
  return ": are there credentials of Google Cloud (`gcloud auth application-default login`)?";
}

/** `compatible` without a variable: no key, as on a local server. */
export function keyOf(options: ServiceModel, name: string, { alternative }: Respondent): string | undefined {
  const variable = keyVariableOf(options);
  if (variable === undefined) return undefined;
  const key = process.env[variable]?.trim();
  if (key !== undefined && key !== "") return key;
  const fix = `set it, or ${alternative}`;
  throw new TroupeError("bad_arguments", `${name} needs a key in ${variable}: ${fix}.`);
}
