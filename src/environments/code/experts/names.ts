/** Experts by the name of their model, as in MAGRPO's configuration. */
import { TroupeError } from "../../../errors.ts";
import type { ProviderName } from "../../../clients/providers.ts";

const patterns: readonly (readonly [pattern: RegExp, provider: ProviderName])[] = [
  [/claude/i, "anthropic"],
  [/deepseek/i, "deepseek"],
  [/qwen/i, "dashscope"],
  [/gemini/i, "google"],
  [/gpt|^o\d/i, "openai"],
];

/** Published names that the service does not use. */
const renamed: Readonly<Record<string, string>> = { "qwen3-coder": "qwen3-coder-plus" };

/** @throws TroupeError `bad_arguments` if no provider is known for the name */
export function expertNamed(model: string): { readonly provider: ProviderName; readonly model: string } {
  const provider = patterns.find(([pattern]) => pattern.test(model))?.[1];
  if (provider !== undefined) return { provider, model: renamed[model] ?? model };
  const known = "claude…, deepseek…, qwen…, gemini… and gpt… are known";
  const fix = `set environment.expert='{provider: compatible, model: ${model}, baseUrl: …}' for another service`;
  throw new TroupeError("bad_arguments", `no provider is known for the expert ${model}; ${known}; ${fix}`);
}
