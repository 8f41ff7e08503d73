/** The services that offer models. */

export interface Provider {
  readonly baseUrl: string;
  /** The environment variable with the key. */
  readonly keyVariable: string;
}

const providers = {
  anthropic: { baseUrl: "https://api.anthropic.com/v1", keyVariable: "ANTHROPIC_API_KEY" },
  openai: { baseUrl: "https://api.openai.com/v1", keyVariable: "OPENAI_API_KEY" },
  google: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyVariable: "GEMINI_API_KEY",
  },
  // The address with a key; with a project it depends on the region (models.ts).
  vertex: {
    baseUrl: "https://aiplatform.googleapis.com/v1/publishers/google",
    keyVariable: "GOOGLE_VERTEX_API_KEY",
  },
  deepseek: { baseUrl: "https://api.deepseek.com/v1", keyVariable: "DEEPSEEK_API_KEY" },
  dashscope: {
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    keyVariable: "DASHSCOPE_API_KEY",
  },
} as const satisfies Readonly<Record<string, Provider>>;

export type ProviderName = keyof typeof providers;
export const providerNames = Object.keys(providers) as readonly ProviderName[];

/** The options that determine a model's address. */
export interface Address {
  readonly provider: ProviderName | "compatible";
  readonly baseUrl?: string | undefined;
  readonly keyVariable?: string | undefined;
  readonly project?: string | undefined;
}

export function baseUrlOf({ provider, baseUrl }: Address): string {
  return (baseUrl ?? providerOf(provider)?.baseUrl ?? "").replace(/\/+$/, "");
}

/** Undefined: no key is sent. */
export function keyVariableOf({ provider, keyVariable, project }: Address): string | undefined {
  if (provider === "vertex" && project !== undefined) return keyVariable;
  return keyVariable ?? providerOf(provider)?.keyVariable;
}

function providerOf(name: Address["provider"]): Provider | undefined {
  return name === "compatible" ? undefined : providers[name];
}
