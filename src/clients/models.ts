/** A model in the form of the AI SDK. Each package is loaded when a model needs it. */
import type { LanguageModel } from "ai";
import type { ClientOptions } from "./options.ts";
import { baseUrlOf } from "./providers.ts";

interface Connection {
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  /** Otherwise the packages would read environment variables of their own. */
  readonly apiKey: string;
}

type Model = Exclude<LanguageModel, string>;
type Open = (connection: Connection, model: string) => Promise<Model>;

/** All others have an endpoint like OpenAI's chat completions. */
const own: Readonly<Partial<Record<ClientOptions["provider"], Open>>> = {
  anthropic: async (connection, model) =>
    (await import("@ai-sdk/anthropic")).createAnthropic(connection).languageModel(model),
  openai: async (connection, model) => (await import("@ai-sdk/openai")).createOpenAI(connection).chat(model),
  google: async (connection, model) =>
    (await import("@ai-sdk/google")).createGoogle(connection).languageModel(model),
};

export async function modelOf(
  options: ClientOptions,
  key: string | undefined,
  guarded: typeof fetch,
): Promise<Model> {
  const { provider, model } = options;
  const connection = { baseURL: baseUrlOf(options), fetch: guarded };
  const open = own[provider];
  if (open !== undefined) return open({ ...connection, apiKey: key ?? "" }, model);
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const settings = { ...connection, name: provider, ...(key === undefined ? {} : { apiKey: key }) };
  return createOpenAICompatible(settings).chatModel(model);
}
