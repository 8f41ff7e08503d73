/** What an engine would sample, for tests without one. */
import type { SampledSequence, SampleRequest } from "../../engines/engine.ts";
import { fixtureTokenizer } from "../../text/testing/fixtures.ts";

export const tokenizer = fixtureTokenizer("qwen3");

/** The text with the end token, as many times as requested. The n-th token has the log-probability −n. */
export function sampled(
  { count, maxTokens }: Pick<SampleRequest, "count" | "maxTokens">,
  text: string,
): readonly SampledSequence[] {
  const whole = [...tokenizer.encode(text), ...tokenizer.endTokens.slice(0, 1)];
  const tokens = Int32Array.from(whole.slice(0, maxTokens));
  const stopReason = tokens.length < whole.length ? "length" : "stop";
  const logprobs = Float32Array.from(tokens, (_, index) => -1 - index);
  return Array.from({ length: count }, () => ({ tokens, logprobs, stopReason, policyVersion: 7 }));
}

export const roleNamed = (name: string, maxLength = 1200) => ({
  name,
  policy: "shared",
  tokenizer,
  maxLength,
  maxTokens: 300,
  stop: [],
});
