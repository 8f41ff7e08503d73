/** A model in the form of the AI SDK. Each package is loaded when a model needs it. */
import { createRequire } from "node:module";
import type { LanguageModel } from "ai";
import { TroupeError } from "../errors.ts";
import type { ClientOptions, ServiceModel } from "./options.ts";
import { baseUrlOf } from "./providers.ts";

interface Connection {
  readonly options: ServiceModel;
  readonly fetch: typeof fetch;
  /** Undefined: none, as on a local server. */
  readonly key: string | undefined;
  /** Whether the service is sent the schema of an answer, and not only told that it is JSON. */
  readonly sendsSchema: boolean;
}

export type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
type Open = (connection: Connection) => Promise<Model>;

/** All others have an endpoint like OpenAI's chat completions. */
const own: Readonly<Partial<Record<ClientOptions["provider"], Open>>> = {
  anthropic: async ({ options, ...given }) =>
    (await import("@ai-sdk/anthropic"))
      .createAnthropic(settings(options, given))
      .languageModel(options.model),
  openai: async ({ options, ...given }) =>
    (await import("@ai-sdk/openai")).createOpenAI(settings(options, given)).chat(options.model),
  google: async ({ options, ...given }) =>
    (await import("@ai-sdk/google")).createGoogle(settings(options, given)).languageModel(options.model),
  vertex: openVertex,
};

export function modelOf(connection: Connection): Promise<Model> {
  return (own[connection.options.provider] ?? openCompatible)(connection);
}

/** The packages would otherwise read environment variables of their own. */
function settings(
  options: ServiceModel,
  { fetch, key = "" }: Pick<Connection, "fetch" | "key">,
): { readonly baseURL: string; readonly fetch: typeof globalThis.fetch; readonly apiKey: string } {
  return { baseURL: baseUrlOf(options), fetch, apiKey: key };
}

/**
 * Vertex's package is not installed with Troupe: it brings the credentials of Google Cloud, which few use.
 * @throws TroupeError `bad_arguments` if it is missing
 */
export function checkInstalled(
  provider: ClientOptions["provider"],
  resolve: (name: string) => string = resolvePackage,
): void {
  if (provider !== "vertex") return;
  try {
    resolve(vertexPackage);
  } catch (cause) {
    const fix = `run \`npm install ${vertexPackage}@5\`, or choose the provider google`;
    throw new TroupeError("bad_arguments", `vertex needs a package that is not installed: ${fix}.`, {
      cause,
    });
  }
}

const vertexPackage = "@ai-sdk/google-vertex";
const resolvePackage = createRequire(import.meta.url).resolve;

/** With a key, or with a project and the credentials of Google Cloud on this machine. */
async function openVertex({ options, fetch, key = "" }: Connection): Promise<Model> {
  checkInstalled("vertex");
  const { createGoogleVertex } = await import("@ai-sdk/google-vertex");
  const { project, location, baseUrl } = options;
  const address = key === "" && baseUrl === undefined ? {} : { baseURL: baseUrlOf(options) };
  const place = project === undefined ? {} : { project, location };
  return createGoogleVertex({ ...address, ...place, fetch, apiKey: key }).languageModel(options.model);
}

async function openCompatible({ options, fetch, key, sendsSchema }: Connection): Promise<Model> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  return createOpenAICompatible({
    baseURL: baseUrlOf(options),
    fetch,
    name: options.provider,
    supportsStructuredOutputs: sendsSchema,
    ...(key === undefined ? {} : { apiKey: key }),
  }).chatModel(options.model);
}
