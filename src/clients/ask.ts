/** A question to a model of a service, through the AI SDK, which knows the services' formats. Loaded with the first question. */
import { ServiceError, TroupeError } from "../errors.ts";
import { modelOf } from "./models.ts";
import type { ClientOptions } from "./options.ts";
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

/**
 * The text of the answer. Error messages never quote the service, which may repeat the key.
 * @throws ServiceError if the service fails; TroupeError `bad_arguments` if the key is missing or not accepted
 */
export async function askModel(
  options: ClientOptions,
  respondent: Respondent,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<string> {
  const { temperature, maxTokens, timeoutSeconds } = options;
  const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(1000 * timeoutSeconds)]);
  const name = nameOf(options, respondent);
  const key = keyOf(options, name, respondent);
  const exchange: Exchange = { status: null, failure: null, rejectsKey: false };
  const { generateText } = await sdk();
  const model = await modelOf(options, key, guardedFetch(exchange));
  try {
    const { text } = await generateText({
      model,
      instructions: textOf(messages, "system"),
      prompt: textOf(messages, "user"),
      temperature,
      maxOutputTokens: maxTokens,
      // The caller retries.
      maxRetries: 0,
      abortSignal,
    });
    return text;
  } catch {
    throw failureOf(exchange, options, name);
  }
}

async function sdk(): Promise<typeof import("ai")> {
  // It would print warnings about settings that a model ignores.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return import("ai");
}

function textOf(messages: readonly ChatMessage[], wanted: ChatMessage["role"]): string {
  const parts = messages.filter(({ role }) => role === wanted);
  return parts.map(({ content }) => content).join("\n\n");
}

function failureOf(
  { status, failure, rejectsKey }: Exchange,
  options: ClientOptions,
  model: string,
): TroupeError {
  const name = `${model} (${options.provider})`;
  if (failure !== null) return new ServiceError(`${name} ${failure}.`);
  if (status === null) return new ServiceError(`${name} cannot be asked.`);
  if (rejectsKey) {
    const variable = keyVariableOf(options) ?? "no variable";
    const problem = `${name} does not accept the key in ${variable} (${status})`;
    return new TroupeError("bad_arguments", `${problem}: set the right one.`);
  }
  const isRefused = status < 200 || status > 299;
  return new ServiceError(
    isRefused ? `${name} answered with status ${status}.` : `${name} gave an answer that cannot be read.`,
  );
}

/** @throws TroupeError `bad_arguments` if the key is missing */
export function checkKey(options: ClientOptions, respondent: Respondent): void {
  keyOf(options, nameOf(options, respondent), respondent);
}

function nameOf({ model }: ClientOptions, { role }: Respondent): string {
  return `The ${role} ${model}`;
}

/** `compatible` without a variable: no key, as on a local server. */
function keyOf(options: ClientOptions, name: string, { alternative }: Respondent): string | undefined {
  const variable = keyVariableOf(options);
  if (variable === undefined) return undefined;
  const key = process.env[variable]?.trim();
  if (key !== undefined && key !== "") return key;
  const fix = `set it, or ${alternative}`;
  throw new TroupeError("bad_arguments", `${name} needs a key in ${variable}: ${fix}.`);
}
